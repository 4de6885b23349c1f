import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parseLogSettings } from '@runledger/event-log/provision/log-settings';
import { ForbiddenConfiguration, provision } from '@runledger/event-log/provision/provision';
import { readCliSettings } from '../api-client/cli-settings.ts';
import type { Environment } from '../api-client/connection.ts';
import { CommandError } from '../output/command-error.ts';

/** Creates or updates the streams and buckets with the limits of `RUNLEDGER_LOG_SETTINGS`. @throws CommandError */
export const provisionLog = async (log: EventLog, env: Environment): Promise<void> => {
  const { RUNLEDGER_LOG_SETTINGS: json } = readCliSettings(env);
  try {
    await provision(log, json === undefined ? {} : parseLogSettings(json));
  } catch (error) {
    if (error instanceof RangeError || error instanceof ForbiddenConfiguration)
      throw new CommandError(error.message);
    throw error;
  }
};
