import { JetStreamApiError, type StreamConfig } from '@nats-io/jetstream';
import { retry } from '@runledger/resilience/retry';
import { callBroker, isTransient } from '../connect/broker-call.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { closedConfig } from '../provision/closed-stream.ts';
import { explained } from '../provision/stream-manager.ts';
import { CHANGE_WITHIN_MS, findStream, streamManager } from '../provision/stream-manager.ts';
import type { Logs } from './prove-copy.ts';
import { openSnapshot, restoreSnapshot } from './stream-snapshot.ts';

const COPIES = 3;
/** A broker that was busy, or a copy that was still ending. */
const COPY_WITHIN_MS = 120_000;
/** The name is in use: an earlier copy of it has just been removed, or has just ended. */
const IN_USE: ReadonlySet<number> = new Set([10058, 10130]);
const RESTORE_FAILED = 10062;
const DELAYS = { firstMs: 500, longestMs: 5_000 };

/** The copy takes no messages until it is proven. Several copies cannot be stored without flushing. */
export const copyConfig = (config: StreamConfig): StreamConfig => ({
  ...config,
  ...closedConfig(config, 'copy'),
  num_replicas: COPIES,
  persist_mode: 'default',
});

/** Does nothing when it does not exist. @throws {LogUnavailable} */
export const removeStream = async (log: EventLog, stream: string): Promise<void> => {
  const manager = await streamManager(log);
  await callBroker(
    `removing the unfinished copy of ${stream}`,
    async () => {
      if (await findStream(manager, stream)) await manager.streams.delete(stream);
    },
    CHANGE_WITHIN_MS,
  );
};

/**
 * Creates the stream without messages: the brokers reserve what it may use, or refuse. All are created before the first one is copied.
 * @throws {LogUnavailable} with what to do
 */
export const reserveRoom = async (log: EventLog, config: StreamConfig): Promise<void> => {
  const manager = await streamManager(log);
  const { name } = config;
  await callBroker(
    `making room for stream ${name}`,
    async () => {
      if (await findStream(manager, name)) return;
      await explained({ name, limits: config }, [], () => manager.streams.add(config));
    },
    CHANGE_WITHIN_MS,
  );
};

/** Returns the last sequence of the copy. @throws {LogUnavailable} */
export const copyStream = (logs: Logs, stream: string): Promise<number> =>
  retry({ isUnavailable: mayWorkAgain, withinMs: COPY_WITHIN_MS, ...DELAYS }, async () => {
    await removeStream(logs.target, stream);
    const snapshot = await openSnapshot(logs.source, stream);
    await restoreSnapshot(logs.target, snapshot, copyConfig(snapshot.config));
    return snapshot.state.last_seq;
  });

const mayWorkAgain = (error: unknown): boolean =>
  isTransient(error) ||
  error instanceof LogUnavailable ||
  (error instanceof JetStreamApiError && (IN_USE.has(error.code) || error.code === RESTORE_FAILED));
