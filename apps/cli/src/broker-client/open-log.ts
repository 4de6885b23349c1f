import { connect, isIPv6 } from 'node:net';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import type { BrokerSettings, EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { within } from '@runledger/resilience/within';
import type { Environment } from '../api-client/connection.ts';
import { CommandError } from '../output/command-error.ts';
import { findBroker, OPERATOR_WAYS } from './broker-credentials.ts';

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
    const why = error instanceof Error ? error.message : String(error);
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
