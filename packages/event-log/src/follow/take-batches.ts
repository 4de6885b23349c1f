import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { sleep } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import type { Logger } from '../connect/logger.ts';
import type { Readiness } from '../connect/readiness.ts';
import { CannotContinue, type FollowOptions } from '../messages/following.ts';

const LONGEST_PAUSE_MS = 5_000;

export interface BatchTaker {
  /** Resolves when the batch is taken, or at the signal. @throws {CannotContinue} */
  readonly take: (messages: StoredMessage[]) => Promise<void>;
  /** Not ok while a batch is retried. */
  readonly state: () => Readiness;
  /** The sequence of the last message taken. */
  readonly position: () => number;
}

/** Gives a batch to `onBatch` again until it is taken, so that nothing is skipped. */
export const batchTaker = (
  { stream, after, onBatch }: FollowOptions,
  logger: Logger,
  signal: AbortSignal,
): BatchTaker => {
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
