import { parseLogSettings } from '@runledger/event-log/provision/log-settings';
import {
  FewerReplicas,
  ForbiddenConfiguration,
  LogClosed,
  OtherLoss,
  provision,
  type Provisioned,
  type ProvisionOptions,
} from '@runledger/event-log/provision/provision';
import { readCliSettings } from '../api-client/cli-settings.ts';
import type { Environment } from '../api-client/connection.ts';
import type { Operator } from '../command/command-context.ts';
import { CommandError } from '../output/command-error.ts';

/** Creates or updates the streams and buckets with the limits of `RUNLEDGER_LOG_SETTINGS`. @throws CommandError */
export const provisionLog = async (
  { log, record }: Pick<Operator, 'log' | 'record'>,
  env: Environment,
  options: ProvisionOptions,
): Promise<Provisioned> => {
  const { RUNLEDGER_LOG_SETTINGS: json } = readCliSettings(env);
  try {
    const settings = json === undefined ? {} : parseLogSettings(json);
    const provisioned = await provision(log, settings, options);
    // Of a new log, AUDIT is there only now.
    const target = { kind: 'log', id: null };
    return await record({ action: 'log.provisioned', org_id: null, target }, async () => provisioned);
  } catch (error) {
    const refused = [RangeError, ForbiddenConfiguration, FewerReplicas, LogClosed, OtherLoss].some(
      (kind) => error instanceof kind,
    );
    if (refused && error instanceof Error) throw new CommandError(error.message);
    throw error;
  }
};
