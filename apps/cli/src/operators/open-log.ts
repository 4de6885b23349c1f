import { connect, isIPv6 } from 'node:net';
import { openEventLog, type BrokerSettings, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { within } from '@runledger/resilience/within';
import { readOperatorFile } from '@runledger/standalone/connection-files';
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
import { messageOf } from '@runledger/resilience/errors';
import { type Environment, findDataFolder } from '../api/connection.ts';
import { CommandError } from '../command/command-error.ts';
import { readBrokerCredentials, readCliSettings } from '../api/cli-settings.ts';
import type { Operator } from '../command/command-context.ts';

const CONNECT_WITHIN_MS = 5_000;

/** Opens the log with the operator's credentials. @throws CommandError */
export const openLogAsOperator = async (env: Environment, cwd: string): Promise<EventLog> =>
  openLogAt(await findBroker(env, cwd));

/** @throws CommandError */
export const openLogAt = async (settings: BrokerSettings): Promise<EventLog> => {
  await checkReachable(settings);
  try {
    return await within(CONNECT_WITHIN_MS, openEventLog(settings, silentLogger), () => {
      throw new CommandError(
        `The broker at ${settings.url} does not answer. Is it still starting? Try again.`,
      );
    });
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const why = messageOf(error);
    throw new CommandError(
      `The broker at ${settings.url} refused the operator's credentials: ${why}.\n${OPERATOR_WAYS}`,
    );
  }
};

/** The NATS client waits for a broker without a limit, which suits services but not a command. */
const checkReachable = async ({ url }: BrokerSettings): Promise<void> => {
  const problems = await Promise.all(url.split(',').map((server) => whyUnreachable(server.trim())));
  if (problems.includes(null)) return;
  throw new CommandError(
    `The broker at ${url} cannot be reached (${problems.join('; ')}). Start the standalone (npm start), or set RUNLEDGER_NATS_URL to the address of the broker.`,
  );
};

const whyUnreachable = async (server: string): Promise<string | null> => {
  const parsed = URL.parse(server.includes('://') ? server : `nats://${server}`);
  if (parsed === null || parsed.hostname === '')
    return `${server} is not an address such as nats://127.0.0.1:4222`;
  const host = parsed.hostname.replace(/^\[(.*)\]$/, '$1');
  const socket = connect({
    host,
    port: Number(parsed.port || 4222),
    family: isIPv6(host) ? 6 : 0,
    timeout: CONNECT_WITHIN_MS,
  });
  return new Promise<string | null>((resolve) => {
    socket.once('connect', () => resolve(null));
    socket.once('timeout', () => resolve('no answer in time'));
    socket.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
  }).finally(() => socket.destroy());
};

const OPERATOR_WAYS =
  'This command uses the log directly, with the credentials of the operator of the broker.\n' +
  'Run it in the folder of a standalone or below (its data folder has operator.json), or with RUNLEDGER_DATA_DIR;\n' +
  'or set RUNLEDGER_NATS_URL, and RUNLEDGER_NATS_NKEY_FILE or RUNLEDGER_NATS_USER and RUNLEDGER_NATS_PASSWORD.';

/** The broker and the operator's credentials, from the environment or the nearest standalone. @throws CommandError, ConfigError */
export const findBroker = async (env: Environment, cwd: string): Promise<BrokerSettings> => {
  const given = readBrokerCredentials(env);
  if (given !== undefined) return settings(given);
  const folder = findDataFolder(env, cwd);
  if (folder === undefined) throw new CommandError(`No broker was found.\n${OPERATOR_WAYS}`);
  const file = await readOperatorFile(folder);
  switch (file.kind) {
    case 'found': {
      const { nats_url: url, nats_nkey: seed } = file.content;
      return settings({ url, seed });
    }
    case 'missing':
      throw new CommandError(
        `There is no ${file.path}. No standalone has run with this data folder.\n${OPERATOR_WAYS}`,
      );
    case 'unusable':
      throw new CommandError(`${file.path} cannot be used: ${file.why}.\n${OPERATOR_WAYS}`);
  }
};

interface Identity {
  readonly url: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly seed?: string | undefined;
}

const settings = ({ url, user, password, seed }: Identity): BrokerSettings => ({
  url,
  name: 'runledger-cli',
  ...(user === undefined ? {} : { user }),
  ...(password === undefined ? {} : { password }),
  ...(seed === undefined ? {} : { seed }),
});

/** Creates or updates the streams and buckets with the limits of `RUNLEDGER_LOG_SETTINGS`. @throws CommandError */
export const provisionLog = async (
  { log, record }: Operator,
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
