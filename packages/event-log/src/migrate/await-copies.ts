import type { StreamInfo } from '@nats-io/jetstream';
import { sleep } from '@runledger/resilience/abort';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { openEphemeralConsumer } from '../follow/ephemeral-consumer.ts';
import { streamState } from '../messages/leader-state.ts';
import { awayIn } from '../provision/replicas.ts';

const POLL_MS = 200;
/** Without any progress. */
const STUCK_AFTER_MS = 120_000;

/**
 * Resolves when every broker has the whole stream. After a restore, nats-server (2.15.1) calls copies current that are empty, and a
 * consumer on such a broker delivers nothing. A consumer is at one broker, chosen at random, and knows how many messages there are. So
 * consumers are made until each broker was seen to have all. @throws {LogUnavailable} @throws the signal's reason
 */
export const awaitCopies = async (log: EventLog, stream: string, signal: AbortSignal): Promise<void> => {
  const complete = new Set<string>();
  let most = 0;
  for (let stuckAt = performance.now() + STUCK_AFTER_MS; ;) {
    signal.throwIfAborted();
    const { broker, messages } = await countedAtOne(log, stream);
    const info = await streamState(log, stream);
    if (messages > most) stuckAt = performance.now() + STUCK_AFTER_MS;
    most = Math.max(most, messages);
    if (messages >= info.state.messages && !complete.has(broker)) {
      complete.add(broker);
      stuckAt = performance.now() + STUCK_AFTER_MS;
    }
    const lacking = brokersOf(info).filter((name) => !complete.has(name));
    if (lacking.length === 0 && complete.size >= info.config.num_replicas) return;
    if (performance.now() > stuckAt) throw stuck(log, info, lacking);
    if (messages < info.state.messages) await sleep(POLL_MS, signal);
  }
};

const countedAtOne = async (
  log: EventLog,
  stream: string,
): Promise<{ readonly broker: string; readonly messages: number }> => {
  const begin = { deliver_policy: 'all' } as const;
  const open = await openEphemeralConsumer(log, { stream, subjects: [], begin: () => begin });
  await open.delete();
  return { broker: open.info.cluster?.leader ?? '', messages: open.pending };
};

const brokersOf = ({ cluster }: StreamInfo): readonly string[] => [
  ...(cluster?.leader === undefined ? [] : [cluster.leader]),
  ...(cluster?.replicas ?? []).map(({ name }) => name),
];

const stuck = ({ nc }: EventLog, info: StreamInfo, lacking: readonly string[]): LogUnavailable => {
  const away = awayIn([info], nc.info?.server_name);
  return new LogUnavailable(
    `Stream ${info.config.name} is not complete at ${lacking.join(', ')}, and comes no nearer` +
      `${away.length > 0 ? ` (away: ${away.join(', ')})` : ''}. Check that all new brokers run, and run this again.`,
  );
};
