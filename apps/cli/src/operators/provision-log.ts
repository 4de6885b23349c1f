import type { EventLog } from '@runledger/event-log/connect/event-log';
import { parseLogSettings } from '@runledger/event-log/provision/log-settings';
import {
  FewerReplicas,
  ForbiddenConfiguration,
  LogClosed,
  provision,
  type Provisioned,
  type ProvisionOptions,
} from '@runledger/event-log/provision/provision';
import { readCliSettings } from '../api-client/cli-settings.ts';
import type { Environment } from '../api-client/connection.ts';
import { CommandError } from '../output/command-error.ts';

/** Creates or updates the streams and buckets with the limits of `RUNLEDGER_LOG_SETTINGS`. @throws CommandError */
export const provisionLog = async (
  log: EventLog,
  env: Environment,
  options: ProvisionOptions,
): Promise<Provisioned> => {
  const { RUNLEDGER_LOG_SETTINGS: json } = readCliSettings(env);
  try {
    return await provision(log, json === undefined ? {} : parseLogSettings(json), options);
  } catch (error) {
    const refused = [RangeError, ForbiddenConfiguration, FewerReplicas, LogClosed].some(
      (kind) => error instanceof kind,
    );
    if (refused && error instanceof Error) throw new CommandError(error.message);
    throw error;
  }
};
