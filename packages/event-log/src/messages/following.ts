import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { Readiness } from '../connect/readiness.ts';

/** Thrown by `onBatch`, it ends the follower: the same batch can never be taken. */
export abstract class CannotContinue extends Error {}

export interface FollowOptions {
  readonly stream: 'RUNS' | 'FLEET' | 'ACTIVITY' | 'TIMERS';
  readonly subjects: readonly string[];
  /** The sequence behind which to begin; 0 for everything. */
  readonly after: number;
  /**
   * A sequence that the stream had, for who reads up to it: a former leader of the broker, which was replaced and does not know it yet, may
   * end before, and everything that is stored there would be taken. 0 when left out.
   */
  readonly atLeast?: number;
  /**
   * Takes the next messages, in order, at most 256; never called concurrently. When it rejects, the same batch is retried
   * after a pause, forever; with CannotContinue the follower ends.
   */
  readonly onBatch: (messages: StoredMessage[]) => Promise<void>;
  /**
   * Milliseconds between a batch and the next one, for a reader that need not see each message at once: see `pullBatches`. 0 when
   * left out.
   */
  readonly pauseMs?: number;
  /** Called once, when everything that was stored at the start is taken. */
  readonly onCaughtUp?: () => void;
}

export interface Following extends AsyncDisposable {
  state(): Readiness;
  /** Resolves when the follower has ended by itself. */
  readonly failed: Promise<Error>;
  /** The sequence of the last message taken, or `after`. */
  position(): number;
}
