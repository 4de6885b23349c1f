/** Sentences of the service about names in a request, separated by commas. */
const WARNINGS = 'Runledger-Warning';
/** What releases before that name had: the members alone. */
const IGNORED_MEMBERS = 'Runledger-Ignored-Members';
/** What a warning is about that says no more than the name. */
const IGNORED = /^unknown (?:body member|query parameter) /;

/** What the service ignored in a request, a sentence for each name. */
export const warningsIn = (headers: Headers): string[] => {
  const warnings = headers.get(WARNINGS);
  if (warnings !== null) return warnings.split(', ').map(sentenceOf);
  const members = headers.get(IGNORED_MEMBERS);
  return members === null
    ? []
    : [
        `the service does not know these members of the request, and ignored them: ${members}. It may be of an earlier release.`,
      ];
};

const sentenceOf = (warning: string): string =>
  `${warning}${/[?.]$/.test(warning) ? '' : '.'}${IGNORED.test(warning) ? ' The service ignored it.' : ''}`;
