const HIDDEN = '[hidden]';

/** A cheap test, so that only the few lines that may hold a secret are parsed. */
const MENTIONS_SECRET = /authorization|cookie|runledger[-_]?session|api[-_]?key|token|secret|password/i;

const URL_USER_INFO = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/"'\\<>]*@/gi;
/** 16 characters or more: shorter words after "Bearer" are prose ("Bearer token missing"). */
const BEARER = /\b(Bearer\s+)[\w.~+/=-]{16,}/gi;

/** The signing secret of webhooks. */
const SIGNING_SECRET = /\bwhsec_[\w+/=-]{16,}/g;

/** A token of a run, which may stand in the query of a URL. */
const RUN_TOKEN = /\brlt_[\w.-]{16,}/g;

/** What makes the address of an output file valid. */
const URL_SIGNATURE = /([?&]signature=)[\w-]{16,}/g;

const isSecretField = (name: string): boolean => {
  const plain = name.toLowerCase().replaceAll(/[-_]/g, '');
  return (
    ['authorization', 'proxyauthorization', 'cookie', 'setcookie', 'runledgersession'].includes(plain) ||
    /(?:apikey|token|secret|password)$/.test(plain)
  );
};

/** The text without the user and password of URLs, bearer tokens, tokens of runs, signatures of URLs and signing secrets. */
export const hideSecretsInText = (text: string): string =>
  text
    .replaceAll(URL_USER_INFO, `$1${HIDDEN}@`)
    .replaceAll(BEARER, `$1${HIDDEN}`)
    .replaceAll(RUN_TOKEN, `rlt_${HIDDEN}`)
    .replaceAll(URL_SIGNATURE, `$1${HIDDEN}`)
    .replaceAll(SIGNING_SECRET, `whsec_${HIDDEN}`);

const hideSecretFields = (line: string): string =>
  JSON.stringify(JSON.parse(line), (name, value: unknown) => (isSecretField(name) ? HIDDEN : value));

/**
 * A JSON log line without secrets: fields that are named like a secret at any depth, and secrets inside texts. It works on the
 * line and not on the logged object, so that it covers messages, child fields and error causes too.
 */
export const hideSecretsInLine = (line: string): string => {
  const text = hideSecretsInText(line);
  if (!MENTIONS_SECRET.test(text)) return text;
  try {
    return `${hideSecretFields(text)}\n`;
  } catch {
    // A lost line is better than a leaked secret, and logging must never crash the process.
    return `{"level":"warn","time":"${new Date().toISOString()}","msg":"a log line was dropped: it could not be searched for secrets"}\n`;
  }
};
