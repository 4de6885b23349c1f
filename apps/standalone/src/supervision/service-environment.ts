/** What programs expect to find wherever they run. */
const SURROUNDINGS = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'NODE_EXTRA_CA_CERTS',
  'LD_LIBRARY_PATH',
];

/** Settings of every service: where traces go. */
const OF_ALL = 'OTEL_';

/** Settings of the standalone itself, and credentials for those services alone that are given them; also as `…_FILE`. */
const OURS_ALONE: ReadonlySet<string> = new Set([
  'RUNLEDGER_API_KEY',
  'RUNLEDGER_SECRET_KEYS',
  'RUNLEDGER_WEBHOOK_PROXY',
  'RUNLEDGER_URL',
  'RUNLEDGER_DATA_DIR',
]);
/** Of the operator, for commands. */
const OPERATORS = 'RUNLEDGER_NATS_';

const isOurs = (name: string): boolean =>
  name.startsWith(OPERATORS) || OURS_ALONE.has(name.replace(/_FILE$/, ''));

/**
 * The environment of one service: the surroundings, the settings with its prefixes as the person gave them, and
 * `ours`, which win. A service sees no credentials but those that it is given there.
 */
export const serviceEnvironment = (
  given: NodeJS.ProcessEnv,
  prefixes: readonly string[],
  ours: Readonly<Record<string, string>>,
): Record<string, string> => {
  const isFor = (name: string): boolean =>
    SURROUNDINGS.includes(name) ||
    ([OF_ALL, ...prefixes].some((prefix) => name.startsWith(prefix)) && !isOurs(name));
  const chosen: Record<string, string> = {};
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && isFor(name)) chosen[name] = value;
  return { ...chosen, ...ours };
};
