import { setTimeout as pause } from 'node:timers/promises';
import { READ_MARKER } from '@runledger/contracts/events/subjects';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { CALL_WITHIN_MS, isTransient } from '../connect/broker-call.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import type { Readiness } from '../connect/observability.ts';
import { readDirect, type DirectRead } from './direct-read.ts';
import {
  lastMessage,
  leaderReadUntil,
  nextMessage,
  noteSettled,
  settled,
  streamState,
} from './leader-read.ts';
import { fromStored } from './stored-message.ts';

/** How the messages of RUNS are read. `readRun` needs no more than these. */
export interface RunMessages {
  /**
   * The last message of each subject under a filter. May lack what was stored a moment ago, and has nothing that a later read
   * of the last message may lack. @throws {LogUnavailable}
   */
  lastOfEachSubject(filter: string): Promise<readonly StoredMessage[]>;
  /** The last message under a filter: never older than an acknowledgement. @throws {LogUnavailable} */
  last(filter: string): Promise<StoredMessage | undefined>;
  /** The first message under a filter, from this sequence on. @throws {LogUnavailable} */
  next(filter: string, from: number): Promise<StoredMessage | undefined>;
  /**
   * The message at this sequence; undefined when the log does not hold it. The stream's leader may be a moment behind the reader that
   * it was delivered to; then this waits. @throws {LogUnavailable}
   */
  at(sequence: number): Promise<StoredMessage | undefined>;
}

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

export const messagesOf = (log: EventLog): RunMessages => ({
  lastOfEachSubject: async (filter) => {
    // Too many for one response: the caller reads them from the leader one by one.
    const found = storedIn(await readLast(log, [filter])) ?? [];
    await settled(log, lastIn(found)?.sequence ?? 0);
    return found;
  },
  last: async (filter) => {
    const fresh = await log.freshSequence?.();
    if (fresh !== undefined) noteSettled(log, fresh);
    const proven = fresh === undefined ? undefined : storedIn(await readUpTo(log, filter, fresh));
    if (proven) {
      const last = lastIn(proven);
      await settled(log, last?.sequence ?? 0);
      return last;
    }
    const message = await lastMessage(log, 'RUNS', filter);
    return message === null ? undefined : fromStored(message);
  },
  next: async (filter, from) => {
    const message = await nextMessage(log, 'RUNS', from, filter);
    return message === null ? undefined : fromStored(message);
  },
  at: (sequence) => readStored(log, sequence),
});

const lastIn = (messages: readonly StoredMessage[]): StoredMessage | undefined =>
  messages.toSorted((a, b) => a.sequence - b.sequence).at(-1);

const BEHIND_PAUSE_MS = 1;

/** The last message of each subject, from a replica that has everything up to a sequence. */
const readUpTo = async (log: EventLog, filter: string, upTo: number): Promise<DirectRead | undefined> => {
  const deadline = performance.now() + CALL_WITHIN_MS;
  for (;;) {
    // With a message that there always is, the response is never empty: an empty one does not say how far the replica is.
    const read = await readLast(log, [filter, READ_MARKER]);
    if (!read || read.upTo >= upTo) return read;
    if (performance.now() > deadline) {
      throw new LogUnavailable(
        `reading ${filter}: for ${CALL_WITHIN_MS} ms no replica had message ${upTo}. ` +
          'Check that all brokers of the cluster run and reach each other.',
      );
    }
    await pause(BEHIND_PAUSE_MS);
  }
};

/** More than the largest facts of a run with 100 attempts. Only who forges messages fills more, and nobody should wait for those. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

/** Undefined for more subjects than one response holds (1,024), or more bytes. */
const readLast = async (log: EventLog, filters: string[]): Promise<DirectRead | undefined> => {
  try {
    const query = { multi_last: filters, max_bytes: MAX_RESPONSE_BYTES };
    const read = await readDirect(log, 'RUNS', query, `reading ${filters[0]}`);
    return read.left > 0 ? undefined : read;
  } catch (error) {
    if (isTooMany(error)) return undefined;
    throw error;
  }
};

const storedIn = (read: DirectRead | undefined): readonly StoredMessage[] | undefined =>
  read?.messages.filter(({ subject }) => subject !== READ_MARKER).map(fromStored);

const isTooMany = (error: unknown): boolean =>
  !isTransient(error) && error instanceof Error && 'code' in error && error.code === 413;

/**
 * One message, from the stream's leader; undefined when the stream does not hold it, or no longer. A leader that has not come so far
 * is waited for. @throws {LogUnavailable}
 */
export const readStored = async (
  log: EventLog,
  sequence: number,
  stream: 'RUNS' | 'FLEET' = 'RUNS',
): Promise<StoredMessage | undefined> => {
  // A later message proves that this one is gone. The state does not: until a former leader hears from the others again, it may give
  // one of the two responses.
  const { next } = await leaderReadUntil(
    async () => {
      const found = await nextMessage(log, stream, sequence, '>');
      return { next: found, info: found ? undefined : await streamState(log, stream) };
    },
    ({ info }) => !info || info.config.num_replicas === 1 || info.state.first_seq > sequence,
  );
  return next?.seq === sequence ? fromStored(next) : undefined;
};
