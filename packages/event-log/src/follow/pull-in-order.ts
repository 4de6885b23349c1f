import type { Consumer, ConsumerConfig, JsMsg, StreamInfo } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { sleep, unlessAborted } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import { within } from '@runledger/resilience/within';
import { messageBatches } from './message-batches.ts';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';

export interface PullInOrder {
  readonly stream: string;
  readonly subjects: readonly string[];
  /** Without the payloads, for a reader who wants to know only that there is something. */
  readonly headersOnly?: boolean;
  /** Where to begin: asked at the start and after every interruption. What it throws ends the pulling. */
  begin(info: StreamInfo): Pick<ConsumerConfig, 'deliver_policy'> & { opt_start_seq?: number };
  /** Called with what is at hand, never concurrently; no more than a pull waits meanwhile. What it throws ends the pulling. */
  take(messages: readonly JsMsg[]): Promise<void>;
  /** Once, when everything that was stored at the start is taken. */
  onCaughtUp?(): void;
}

export interface Pulling extends AsyncDisposable {
  state(): Readiness;
  /** Resolves when the pulling has ended by itself. */
  readonly failed: Promise<Error>;
}

export type Readiness = { readonly ok: true } | { readonly ok: false; readonly why: string };

/** Bounds what is held in memory: an event has up to 1 MiB. */
const MOST_AT_HAND = 256;
const PULL_FOR_MS = 30_000;
/** A broker that says nothing for two of these is taken for lost. */
const IDLE_HEARTBEAT_MS = 2_000;
const FORGOTTEN_AFTER_MS = 300_000;
const LONGEST_PAUSE_MS = 2_000;
/** A stop does not wait longer for a broker that is connected and does not answer. */
const CLOSE_WITHIN_MS = 500;
/** Executors have their consumers there, so nobody is allowed to delete any: what is left behind is forgotten sooner. */
const SHARED = 'RUNS';
const SHARED_FORGOTTEN_AFTER_MS = 15_000;

/**
 * Reads a stream in its order, for ever, with a consumer that the broker keeps in memory only. Whatever happens to it (a
 * restart of the broker, a gap in what is delivered), another one is made where `begin` says.
 * @throws what `begin` throws, and LogUnavailable, at the start
 */
export const pullInOrder = async (log: EventLog, pull: PullInOrder): Promise<Pulling> => {
  const stop = new AbortController();
  const failed = Promise.withResolvers<Error>();
  let state: Readiness = { ok: true };
  let caughtUp = pull.onCaughtUp === undefined;

  const reached = (): void => {
    if (caughtUp) return;
    caughtUp = true;
    pull.onCaughtUp?.();
  };
  const run = async (first: OpenConsumer): Promise<void> => {
    let open: OpenConsumer | undefined = first;
    const delays = backoff({ firstMs: 100, longestMs: LONGEST_PAUSE_MS });
    while (!stop.signal.aborted) {
      try {
        open ??= await openUnlessStopped(log, pull, stop.signal);
        state = { ok: true };
        if (open.pending === 0) reached();
        await pump(log, open.consumer, pull.take.bind(pull), reached, stop.signal);
        delays.reset();
      } catch (error) {
        if (error instanceof Ended) throw error.cause;
        if (log.nc.isClosed()) throw error;
        if (stop.signal.aborted) break;
        state = { ok: false, why: `reading ${pull.stream} was interrupted: ${messageOf(error)}` };
        log.logger.warn(
          { err: error, stream: pull.stream },
          'reading a stream was interrupted; it begins again',
        );
        await sleep(delays.next(), stop.signal);
      }
      await open?.delete();
      open = undefined;
    }
    await within(CLOSE_WITHIN_MS, open?.delete(), () => undefined);
  };

  const first = await openConsumer(log, pull).catch((error: unknown) => {
    throw error instanceof Ended ? error.cause : error;
  });
  const running = run(first).catch((error: unknown) => {
    const reason = error instanceof Error ? error : new Error(String(error));
    state = { ok: false, why: reason.message };
    log.logger.error({ err: reason, stream: pull.stream }, 'reading a stream has ended');
    failed.resolve(reason);
  });
  return {
    state: () => state,
    failed: failed.promise,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
};

/** Carries what the caller threw past the attempts to begin again. */
class Ended extends Error {}

interface OpenConsumer {
  readonly consumer: Consumer;
  readonly pending: number;
  delete(): Promise<void>;
}

const openConsumer = async (log: EventLog, pull: PullInOrder): Promise<OpenConsumer> => {
  const { stream, subjects, headersOnly = false } = pull;
  const info = await callBroker(`asking about stream ${stream}`, () => log.jsm.streams.info(stream));
  let start: ReturnType<PullInOrder['begin']>;
  try {
    start = pull.begin(info);
  } catch (error) {
    throw new Ended('begin', { cause: error });
  }
  const config: Partial<ConsumerConfig> = {
    ...start,
    ack_policy: 'none',
    max_deliver: 1,
    filter_subjects: [...subjects],
    headers_only: headersOnly,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: nanos(stream === SHARED ? SHARED_FORGOTTEN_AFTER_MS : FORGOTTEN_AFTER_MS),
  };
  const made = await callBroker(`reading stream ${stream}`, () => log.jsm.consumers.add(stream, config));
  return {
    consumer: log.js.consumers.getConsumerFromInfo(made),
    pending: made.num_pending,
    delete: async () => {
      // The broker forgets it after a while in any case.
      if (!log.connected() || stream === SHARED) return;
      await log.jsm.consumers.delete(stream, made.name).catch(() => false);
    },
  };
};

/** A consumer that comes after the stop is let go. */
const openUnlessStopped = async (
  log: EventLog,
  pull: PullInOrder,
  stop: AbortSignal,
): Promise<OpenConsumer> => {
  const opening = openConsumer(log, pull);
  try {
    return await unlessAborted(opening, stop);
  } catch (error) {
    if (stop.aborted) void opening.then((late) => late.delete()).catch(() => undefined);
    throw error;
  }
};

/** One pull after the other; a pull delivers what comes until it is used up. */
const pump = async (
  log: EventLog,
  consumer: Consumer,
  take: (messages: readonly JsMsg[]) => Promise<void>,
  reached: () => void,
  signal: AbortSignal,
): Promise<void> => {
  let delivered = 0;
  while (!signal.aborted) {
    const pulled = await consumer.fetch({
      max_messages: MOST_AT_HAND,
      expires: PULL_FOR_MS,
      idle_heartbeat: IDLE_HEARTBEAT_MS,
    });
    const stop = (): void => pulled.stop();
    signal.addEventListener('abort', stop, { once: true });
    // It may have come while the pull was asked for.
    if (signal.aborted) stop();
    // Left alone, the driver may wait half a minute before it asks a broker again that was not ready at once.
    let reconnected = false;
    const offReconnect = log.onReconnect(() => {
      reconnected = true;
      pulled.stop();
    });
    try {
      for await (const messages of messageBatches(pulled)) {
        if (signal.aborted) return;
        for (const message of messages) {
          delivered += 1;
          if (message.info.deliverySequence !== delivered) {
            throw new Error(`message ${delivered} of the delivery is missing`);
          }
        }
        await take(messages).catch((error: unknown) => {
          throw new Ended('take', { cause: error });
        });
        if (messages.at(-1)?.info.pending === 0) reached();
      }
    } finally {
      offReconnect();
      signal.removeEventListener('abort', stop);
      pulled.stop();
    }
    if (reconnected) throw new Error('the connection to the broker was lost meanwhile');
  }
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
