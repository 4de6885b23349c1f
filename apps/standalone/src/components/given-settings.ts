/** Only for the notifier, since a URL of a proxy may have a password. */
export const PROXY_SETTINGS = ['RUNLEDGER_WEBHOOK_PROXY', 'RUNLEDGER_WEBHOOK_PROXY_FILE'] as const;

/** Those of the named settings that the environment has. */
export const settingsGiven = (env: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
