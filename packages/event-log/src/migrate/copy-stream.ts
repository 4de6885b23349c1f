import { JetStreamApiError, type StreamConfig, type StreamState } from '@nats-io/jetstream';
import { createInbox, type Msg, type Subscription } from '@nats-io/transport-node';
import { retry } from '@runledger/resilience/retry';
import { within } from '@runledger/resilience/within';
import { callBroker, isTransient } from '../connect/broker-call.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { closedConfig } from '../provision/check-stream.ts';
import { CHANGE_WITHIN_MS, explained, findStream, streamManager } from '../provision/stream-manager.ts';
import type { Logs } from './prove-copy.ts';

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
export const reserveSpace = async (log: EventLog, config: StreamConfig): Promise<void> => {
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

/** All messages of a stream at one moment, as the broker sends them: with sequences, times, headers and gaps. */
export interface Snapshot {
  readonly config: StreamConfig;
  readonly state: StreamState;
  /** Read once, and to the end. The broker sends the next ones when these are taken. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

const CHUNK_BYTES = 128 * 1024;
/** What the broker sends ahead: the bound on memory, whatever the size of the stream. */
const WINDOW_BYTES = 4 * 1024 * 1024;
/** The broker itself gives up after five seconds without a sign of the other side. */
const CHUNK_WITHIN_MS = 15_000;
/** Creating a stream with several copies elects a leader first. */
const RESPONSE_WITHIN_MS = 30_000;
/** The broker has all messages, and stores the last ones. */
const END_WITHIN_MS = 120_000;

/**
 * Through the API of JetStream, as `nats stream backup` does it. Consumers are left out.
 * @throws {LogUnavailable}
 */
export const openSnapshot = async (log: EventLog, stream: string): Promise<Snapshot> => {
  const deliver_subject = createInbox();
  const subscription = log.nc.subscribe(deliver_subject);
  try {
    const request = {
      deliver_subject,
      no_consumers: true,
      chunk_size: CHUNK_BYTES,
      window_size: WINDOW_BYTES,
    };
    const { config, state } = await requested<Snapshot>(log, `STREAM.SNAPSHOT.${stream}`, request);
    return { config, state, chunks: chunksOf(subscription, stream) };
  } catch (error) {
    subscription.unsubscribe();
    throw error;
  }
};

async function* chunksOf(subscription: Subscription, stream: string): AsyncGenerator<Uint8Array> {
  const messages = subscription[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next: IteratorResult<Msg> = await within(CHUNK_WITHIN_MS, messages.next(), () => {
        throw new LogUnavailable(
          `The broker stopped sending the snapshot of stream ${stream}. Check that it runs, and try again.`,
        );
      });
      if (next.done === true)
        throw new LogUnavailable(`The snapshot of stream ${stream} ended with the connection.`);
      const message = next.value;
      if (message.data.length === 0) {
        const { code = 204, description = '' } = message.headers ?? {};
        if (code !== 0 && code !== 204)
          throw new LogUnavailable(
            `The broker ended the snapshot of stream ${stream}: ${code} ${description}.`,
          );
        return;
      }
      yield message.data;
      message.respond();
    }
  } finally {
    subscription.unsubscribe();
  }
}

/**
 * As `nats stream restore` does it, with a configuration that may differ from that of the snapshot. The stream must not exist.
 * @throws {LogUnavailable} @throws JetStreamApiError
 */
export const restoreSnapshot = async (
  log: EventLog,
  { state, chunks }: Omit<Snapshot, 'config'>,
  config: StreamConfig,
): Promise<void> => {
  const what = `STREAM.RESTORE.${config.name}`;
  const { deliver_subject } = await requested<{ readonly deliver_subject: string }>(log, what, {
    config,
    state,
  });
  for await (const chunk of chunks) {
    const answer = await log.nc.request(deliver_subject, chunk, { timeout: CHUNK_WITHIN_MS });
    if (answer.data.length > 0) checked(answer.json<Answered>());
  }
  const end = await log.nc.request(deliver_subject, new Uint8Array(), { timeout: END_WITHIN_MS });
  checked(end.json<Answered>());
};

const requested = async <Answer>(log: EventLog, what: string, body: object): Promise<Answer> => {
  const answer = await log.nc.request(`${log.apiPrefix}.${what}`, JSON.stringify(body), {
    timeout: RESPONSE_WITHIN_MS,
  });
  return checked(answer.json<Answer & Answered>());
};

interface Answered {
  readonly error?: ConstructorParameters<typeof JetStreamApiError>[0];
}

/** @throws JetStreamApiError */
const checked = <Answer extends Answered>(answer: Answer): Answer => {
  if (answer.error) throw new JetStreamApiError(answer.error);
  return answer;
};
