/** Variables that any program may need. */
const COMMON_VARIABLES = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'NODE_EXTRA_CA_CERTS',
  'NODE_COMPILE_CACHE',
  'LD_LIBRARY_PATH',
  'OMP_NUM_THREADS',
];

/** Settings of every service for traces. */
const TRACING_PREFIX = 'OTEL_';

/** Settings of the standalone itself, and credentials that only some services get. Also with `_FILE`. */
const STANDALONE_VARIABLES: ReadonlySet<string> = new Set([
  'RUNLEDGER_API_KEY',
  'RUNLEDGER_HEALTH_TOKEN',
  'RUNLEDGER_SECRET_KEYS',
  'RUNLEDGER_WEBHOOK_PROXY',
  'RUNLEDGER_URL',
  'RUNLEDGER_DATA_DIR',
]);
/** Settings of the operator's commands. */
const OPERATOR_PREFIX = 'RUNLEDGER_NATS_';

const isWithheld = (name: string): boolean =>
  name.startsWith(OPERATOR_PREFIX) || STANDALONE_VARIABLES.has(name.replace(/_FILE$/, ''));

/**
 * The environment of one service: common variables, the given settings with its prefixes, and `own`, which override them.
 * A service gets no credentials except those in `own`.
 */
export const serviceEnvironment = (
  given: NodeJS.ProcessEnv,
  prefixes: readonly string[],
  own: Readonly<Record<string, string>>,
): Record<string, string> => {
  const isFor = (name: string): boolean =>
    COMMON_VARIABLES.includes(name) ||
    ([TRACING_PREFIX, ...prefixes].some((prefix) => name.startsWith(prefix)) && !isWithheld(name));
  const chosen: Record<string, string> = {};
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && isFor(name)) chosen[name] = value;
  return { ...chosen, ...own };
};
