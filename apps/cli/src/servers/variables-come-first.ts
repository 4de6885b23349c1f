import { readCliSettings } from '../api-client/cli-settings.ts';
import type { Environment } from '../api-client/connection.ts';
import type { Screen } from '../output/screen.ts';

/** Who chooses a context should know that a variable comes before it. */
export const warnOfVariables = (env: Environment, screen: Screen): void => {
  const { RUNLEDGER_URL, RUNLEDGER_CONTEXT, RUNLEDGER_DATA_DIR } = readCliSettings(env);
  const set = Object.entries({ RUNLEDGER_URL, RUNLEDGER_CONTEXT, RUNLEDGER_DATA_DIR })
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name);
  if (set.length > 0)
    screen.hint(`Set in this shell, and comes before the chosen context: ${set.join(', ')}.`);
};
