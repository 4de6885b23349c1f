import type { StreamInfo } from '@nats-io/jetstream';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { sleep } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import type { EventLog } from '../connect/event-log.ts';
import type { Logger, Readiness } from '../connect/observability.ts';
import { CannotContinue, type Following, type FollowOptions } from '../read/run-messages.ts';
import { CREATED, createdOf } from '../read/stream-identity.ts';
import type { StartPosition } from './ephemeral-consumer.ts';
import { pullInOrder } from './pull-in-order.ts';

export { NewerVersion } from '../read/newer-version.ts';
export { CannotContinue } from '../read/run-messages.ts';
export type { Following } from '../read/run-messages.ts';

/** The log ends before the position: it was restored from an older copy, or is another log. State derived from it is wrong. */
export class PositionBeyondEnd extends Error {
  override readonly name = 'PositionBeyondEnd';
  readonly code = 'position_beyond_end';
  readonly position: number;
  readonly lastSequence: number;

  constructor(stream: string, position: number, lastSequence: number) {
    super(
      `Stream ${stream} ends at ${lastSequence}, and ${position} was read before: it lost its end, or is another stream. ` +
        'Rebuild the state that was derived from it.',
    );
    this.position = position;
    this.lastSequence = lastSequence;
  }
}

/** While it was followed, the stream was created again, or restored from an older copy that has other messages since. */
export class StreamReplaced extends Error {
  override readonly name = 'StreamReplaced';
  readonly code = 'stream_replaced';
}

/**
 * Reads a stream in order from a position on, permanently: loses and repeats nothing over restarts of the broker.
 * @throws {PositionBeyondEnd} @throws {LogUnavailable}
 */
export const follow = async (log: EventLog, options: FollowOptions): Promise<Following> => {
  const { stream, subjects, onCaughtUp, pauseMs = 0 } = options;
  const stop = new AbortController();
  const taker = batchHandler(options, log.logger, stop.signal);
  let created: string | undefined;
  let last: StoredMessage | undefined;

  const begin = (info: StreamInfo): StartPosition => {
    // A stream that has just been created again does not say when yet.
    const present = created === undefined ? createdOf(info) : (info.config.metadata?.[CREATED] ?? 'just now');
    created ??= present;
    if (present !== created) {
      throw new StreamReplaced(
        `Stream ${stream} of ${created} was replaced by one of ${present}. Rebuild the state that was derived from it.`,
      );
    }
    const position = taker.position();
    const known = Math.max(position, options.atLeast ?? 0);
    if (known > info.state.last_seq) throw new PositionBeyondEnd(stream, known, info.state.last_seq);
    return { deliver_policy: 'by_start_sequence', opt_start_seq: last?.sequence ?? position + 1 };
  };
  /** The last message comes again after an interruption, unless it has expired: it shows that the stream is the same. */
  const withoutLast = (delivered: readonly StoredMessage[]): StoredMessage[] => {
    const [first] = delivered;
    if (!last || first?.sequence !== last.sequence) return [...delivered];
    if (first.time === last.time) return delivered.slice(1);
    throw new StreamReplaced(
      `Stream ${stream} has a message of ${first.time} at ${last.sequence}, and one of ${last.time} was read there before: it was ` +
        'restored from an older copy. Rebuild the state that was derived from it.',
    );
  };
  const take = async (delivered: readonly StoredMessage[]): Promise<void> => {
    const messages = withoutLast(delivered);
    if (messages.length === 0) return;
    await taker.take(messages);
    const latest = messages.at(-1);
    // What has no content may be empty, and nothing would come behind it again: see `pullBatches`.
    last = latest?.body === undefined ? undefined : latest;
  };
  const pulling = await pullInOrder(log, {
    stream,
    subjects,
    readUpTo: taker.position,
    begin,
    pauseMs,
    take,
    ...(onCaughtUp ? { onCaughtUp } : {}),
  });
  return {
    state: () => {
      const taking = taker.state();
      return taking.ok ? pulling.state() : taking;
    },
    failed: pulling.failed,
    position: taker.position,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await pulling[Symbol.asyncDispose]();
    },
  };
};

const LONGEST_PAUSE_MS = 5_000;

interface BatchHandler {
  /** Resolves when the batch is taken, or at the signal. @throws {CannotContinue} */
  readonly take: (messages: StoredMessage[]) => Promise<void>;
  /** Not ok while a batch is retried. */
  readonly state: () => Readiness;
  /** The sequence of the last message taken. */
  readonly position: () => number;
}

/** Gives a batch to `onBatch` again until it is taken, so that nothing is skipped. */
const batchHandler = (
  { stream, after, onBatch }: FollowOptions,
  logger: Logger,
  signal: AbortSignal,
): BatchHandler => {
  let position = after;
  let failure: string | undefined;
  return {
    take: async (messages) => {
      const last = messages.at(-1)?.sequence ?? position;
      const delays = backoff({ firstMs: 100, longestMs: LONGEST_PAUSE_MS });
      while (!signal.aborted) {
        try {
          await onBatch(messages);
          failure = undefined;
          position = last;
          return;
        } catch (error) {
          if (error instanceof CannotContinue) throw error;
          failure = `messages up to ${last} of ${stream} could not be taken: ${String(error)}`;
          logger.error({ err: error, stream, after: position }, 'a batch could not be taken; it is retried');
          await sleep(delays.next(), signal);
        }
      }
    },
    state: () => (failure === undefined ? { ok: true } : { ok: false, why: failure }),
    position: () => position,
  };
};
