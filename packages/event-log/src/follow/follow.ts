import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { sleep } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import type { JsMsg, StreamInfo } from '@nats-io/jetstream';
import type { EventLog } from '../connect/event-log.ts';
import { NewerVersion } from './newer-version.ts';
import { pullInOrder, type Readiness } from './pull-in-order.ts';
import { fromDelivered } from '../messages/stored-message.ts';

export { NewerVersion } from './newer-version.ts';

export interface FollowOptions {
  readonly stream: 'RUNS' | 'FLEET' | 'ACTIVITY' | 'TIMERS';
  readonly subjects: readonly string[];
  /** The sequence behind which to begin; 0 for everything. */
  readonly after: number;
  /**
   * Takes what is at hand, in order, at most 256; never called concurrently. When it rejects, the same batch is given
   * again after a while, for ever; with NewerVersion the following ends.
   */
  readonly onBatch: (messages: StoredMessage[]) => Promise<void>;
  /** Called once, when everything that was stored at the start is taken. */
  readonly onCaughtUp?: () => void;
}

export interface Following extends AsyncDisposable {
  state(): Readiness;
  /** Resolves when the following has ended by itself. */
  readonly failed: Promise<Error>;
  /** The sequence of the last message taken, or `after`. */
  position(): number;
}

/** The log ends before the position: it was restored from an older copy, or is another one. What was derived from it is not to be trusted. */
export class PositionBeyondEnd extends Error {
  override readonly name = 'PositionBeyondEnd';
  readonly code = 'position_beyond_end';
  readonly position: number;
  readonly lastSequence: number;

  constructor(stream: string, position: number, lastSequence: number) {
    super(
      `Stream ${stream} ends at ${lastSequence}, and ${position} was read before: it lost its end, or is another stream. ` +
        'Derive anew what was derived from it.',
    );
    this.position = position;
    this.lastSequence = lastSequence;
  }
}

/** The stream was deleted and made again while it was followed. */
export class StreamReplaced extends Error {
  override readonly name = 'StreamReplaced';
  readonly code = 'stream_replaced';
}

const LONGEST_PAUSE_MS = 5_000;

/**
 * Reads a stream in order from a position on, for ever: loses and repeats nothing over restarts of the broker.
 * @throws {PositionBeyondEnd} @throws {LogUnavailable}
 */
export const follow = async (log: EventLog, options: FollowOptions): Promise<Following> => {
  const { stream, subjects, after, onBatch, onCaughtUp } = options;
  const stop = new AbortController();
  let position = after;
  let created: string | undefined;
  let trouble: string | undefined;

  const begin = (info: StreamInfo): { deliver_policy: 'by_start_sequence'; opt_start_seq: number } => {
    created ??= info.created;
    if (info.created !== created) {
      throw new StreamReplaced(
        `Stream ${stream} of ${created} was replaced by one of ${info.created}. Derive anew what was derived from it.`,
      );
    }
    if (position > info.state.last_seq) throw new PositionBeyondEnd(stream, position, info.state.last_seq);
    return { deliver_policy: 'by_start_sequence', opt_start_seq: position + 1 };
  };
  const take = async (delivered: readonly JsMsg[]): Promise<void> => {
    const messages = delivered.map(fromDelivered);
    const last = messages.at(-1);
    const delays = backoff({ firstMs: 100, longestMs: LONGEST_PAUSE_MS });
    while (!stop.signal.aborted) {
      try {
        await onBatch(messages);
        trouble = undefined;
        position = last?.sequence ?? position;
        return;
      } catch (error) {
        if (error instanceof NewerVersion) throw error;
        trouble = `messages up to ${last?.sequence ?? position} of ${stream} could not be taken: ${String(error)}`;
        log.logger.error(
          { err: error, stream, after: position },
          'a batch could not be taken; it is given again',
        );
        await sleep(delays.next(), stop.signal);
      }
    }
  };

  const pulling = await pullInOrder(log, {
    stream,
    subjects,
    begin,
    take,
    ...(onCaughtUp ? { onCaughtUp } : {}),
  });
  return {
    state: () => (trouble === undefined ? pulling.state() : { ok: false, why: trouble }),
    failed: pulling.failed,
    position: () => position,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await pulling[Symbol.asyncDispose]();
    },
  };
};
