import { setTimeout as pause } from 'node:timers/promises';
import type { ConsumerInfo, StreamInfo } from '@nats-io/jetstream';
import { sleep } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import { within } from '@runledger/resilience/within';
import { messageOf } from '@runledger/resilience/errors';
import type { EventLog } from '../connect/event-log.ts';
import type { Readiness } from '../connect/observability.ts';
import type { DeliveredMessage } from '../read/stored-message.ts';
import {
  openEphemeralConsumer,
  openUnlessAborted,
  type EphemeralConsumer,
  type EphemeralConsumerOptions,
  type StartPosition,
} from './ephemeral-consumer.ts';
import { pullBatches } from './pull-batches.ts';

interface PullInOrder extends Omit<EphemeralConsumerOptions, 'begin'> {
  /** Where to begin, at the start and after every interruption. When it throws, the pulling ends. */
  begin(info: StreamInfo): StartPosition;
  /** Called with the next messages, at most 256, never concurrently. When it throws, the pulling ends. */
  take(messages: readonly DeliveredMessage[]): Promise<void>;
  /** See `pullBatches`. 0 when left out. */
  readonly pauseMs?: number;
  /** Called once, when everything is taken that was stored at the start. */
  onCaughtUp?(): void;
}

export interface Pulling extends AsyncDisposable {
  state(): Readiness;
  /** Resolves when the pulling has ended by itself. */
  readonly failed: Promise<Error>;
}

const LONGEST_PAUSE_MS = 2_000;
/** A stop does not wait longer for a broker that is connected and does not respond. */
const CLOSE_WITHIN_MS = 500;

/**
 * Reads a stream in its order, permanently, with a consumer that the broker keeps in memory only. After every interruption (a
 * restart of the broker, a gap in the delivery) it opens another consumer where `begin` says.
 * @throws what `begin` throws, and LogUnavailable, at the start
 */
export const pullInOrder = async (log: EventLog, pull: PullInOrder): Promise<Pulling> => {
  const stop = new AbortController();
  const failed = Promise.withResolvers<Error>();
  let state: Readiness = { ok: true };
  const catching = catchingUp(log, pull.onCaughtUp && (() => pull.onCaughtUp?.()));

  const onTaken = (last: DeliveredMessage | undefined): void => {
    delays.reset();
    catching.onTaken(last);
  };
  const delays = backoff({ firstMs: 100, longestMs: LONGEST_PAUSE_MS });
  const { begin, take } = endingOnError(pull);
  const options: EphemeralConsumerOptions = { ...pull, begin };
  const run = async (first: EphemeralConsumer): Promise<void> => {
    let open: EphemeralConsumer | undefined = first;
    while (!stop.signal.aborted) {
      try {
        open ??= await openUnlessAborted(log, options, stop.signal);
        state = { ok: true };
        using opened = new DisposableStack();
        opened.defer(catching.begin(open));
        const batches = { take: takeFrom(open, take, onTaken), pauseMs: pull.pauseMs ?? 0 };
        await pullBatches(log, open.info, batches, stop.signal);
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

  const running = run(await openFirst(log, options)).catch((error: unknown) => {
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

const openFirst = (log: EventLog, options: EphemeralConsumerOptions): Promise<EphemeralConsumer> =>
  openEphemeralConsumer(log, options).catch((error: unknown) => {
    throw error instanceof Ended ? error.cause : error;
  });

/** A consumer at a server that does not have its first message yet delivers what comes next there, which may be earlier. */
const takeFrom =
  (
    { from, isWanted }: EphemeralConsumer,
    take: PullInOrder['take'],
    onTaken: (last: DeliveredMessage | undefined) => void,
  ) =>
  async (delivered: readonly DeliveredMessage[]): Promise<void> => {
    const messages = delivered.filter(({ sequence, subject }) => sequence >= from && isWanted(subject));
    if (messages.length > 0) await take(messages);
    onTaken(delivered.at(-1));
  };

/** Carries an error of the caller past the attempts to begin again. */
class Ended extends Error {}

const endingOnError = (pull: PullInOrder): Pick<PullInOrder, 'begin' | 'take'> => ({
  begin: (info) => {
    try {
      return pull.begin(info);
    } catch (error) {
      return endPulling(error);
    }
  },
  take: (messages) => pull.take(messages).catch(endPulling),
});

const endPulling = (cause: unknown): never => {
  throw new Ended('the caller ended the pulling', { cause });
};

/** Finds out when everything is taken that was stored at the start. */
interface CatchingUp {
  /** Begins with a consumer. Returns a function that ends it. */
  begin(consumer: EphemeralConsumer): () => void;
  /** `last`: of the messages that were delivered and taken. */
  onTaken(last: DeliveredMessage | undefined): void;
}

const SILENT_MS = 250;

/**
 * Calls the listener once. The last message usually says that it is the last; but messages that are removed before they are delivered
 * leave none that does. So a consumer that is silent for a moment is asked.
 */
const catchingUp = (log: EventLog, listener: (() => void) | undefined): CatchingUp => {
  const done = new AbortController();
  if (listener === undefined) done.abort();
  let taken = 0;
  const reached = (): void => {
    if (done.signal.aborted) return;
    done.abort();
    listener?.();
  };
  const isDrained = async ({ stream_name, name }: ConsumerInfo): Promise<boolean> => {
    // A consumer that is lost is replaced by another one.
    const info = await log.jsm.consumers.info(stream_name, name).catch(() => undefined);
    return info?.num_pending === 0 && info.delivered.consumer_seq === taken;
  };
  const askWhileSilent = async (info: ConsumerInfo, signal: AbortSignal): Promise<void> => {
    for (let before = -1; !signal.aborted; before = taken) {
      if (before === taken && (await isDrained(info)) && !signal.aborted) reached();
      await pause(SILENT_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  };
  return {
    begin: ({ info, pending }) => {
      taken = 0;
      if (pending === 0) reached();
      const end = new AbortController();
      void askWhileSilent(info, AbortSignal.any([done.signal, end.signal]));
      return () => end.abort();
    },
    onTaken: (last) => {
      taken = last?.deliverySequence ?? taken;
      if (last?.pending === 0) reached();
    },
  };
};
