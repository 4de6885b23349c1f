import {
  NEW_RUN_BYTES,
  reservedBytes,
  UNKNOWN_MESSAGE_BYTES,
  newRunsLimit,
} from '@runledger/contracts/room/reservation';
import type { RunCounts } from '@runledger/contracts/room/run-counts';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { runsIdentity, type RunsIdentity } from '@runledger/event-log/messages/stream-identity';
import { oneAtATime } from '@runledger/resilience/one-at-a-time';
import type { CountedRuns } from './counted-runs.ts';

export interface LogRoomOptions {
  readonly log: EventLog;
  readonly counted: Pick<CountedRuns, 'latest' | 'upTo'>;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** The room of the log for new runs. The facts of accepted runs always fit. */
export interface LogRoom {
  /**
   * Calls `accept`, which stores one new run at most, if the log has room for it and for everything that it may write later.
   * @throws {LogUnavailable} and what `accept` throws
   */
  readonly within: <Result>(accept: () => Promise<Result>) => Promise<Result | 'log_nearly_full'>;
  /** Whether the log still has every accepted run. @throws {LogUnavailable} */
  readonly hasEverything: () => Promise<boolean>;
  readonly counts: () => RunCounts;
}

/** In bytes. */
interface Room {
  /** For new runs. */
  readonly free: number;
  /** What facts that are not counted yet may have reserved. It is not free. */
  readonly unknown: number;
}

const READ_FOR_MS = 1_000;
/**
 * Far from the limit, so much room is free beside what is known, and what is not counted reserves less than that. Other gateways may
 * use it before the next read.
 */
const FAR_RUNS = 1_000;
const FAR_PART = 0.1;
/** How long a request waits for the counts of the facts that are in the log already. */
const COUNT_WITHIN_MS = 250;

/**
 * Far from the limit, the size of the log is read once a second, and the runs that this gateway accepted since then are added.
 * Near the limit it is read for each request; concurrent requests share the next read. Facts that are not counted yet
 * count as what would reserve most.
 */
export const logRoom = ({ log, counted, clock }: LogRoomOptions): LogRoom => {
  let read: { readonly at: number; readonly identity: RunsIdentity } | undefined;
  /** Runs that are being stored. */
  let pending = 0;
  /** Runs that were stored since a read began. */
  let stored = 0;

  const readLog = oneAtATime(async (): Promise<RunsIdentity> => {
    const before = stored;
    const at = clock();
    const identity = await runsIdentity(log);
    stored -= before;
    read = { at, identity };
    return identity;
  });
  const roomIn = ({ created, bytes, maxBytes, firstSequence, lastSequence }: RunsIdentity): Room => {
    const { stream_created, sequence, counts } = counted.latest();
    const isCounted = stream_created === created;
    const before = Math.max(isCounted ? sequence : 0, firstSequence - 1);
    const unknown = Math.max(lastSequence - before, 0) * UNKNOWN_MESSAGE_BYTES;
    const used = bytes + (isCounted ? reservedBytes(counts) : 0) + unknown;
    return { free: newRunsLimit(maxBytes) - used - (pending + stored) * NEW_RUN_BYTES, unknown };
  };
  const isFar = (identity: RunsIdentity): boolean => {
    const { free, unknown } = roomIn(identity);
    const much = Math.max(newRunsLimit(identity.maxBytes) * FAR_PART, FAR_RUNS * NEW_RUN_BYTES);
    return free > much && unknown < much;
  };
  const recent = async (): Promise<RunsIdentity> =>
    read && clock() - read.at < READ_FOR_MS ? read.identity : readLog();

  /** Reads what the next decision needs. */
  const refresh = async (): Promise<void> => {
    if (isFar(await recent())) return;
    const { lastSequence } = await readLog();
    await counted.upTo(lastSequence, AbortSignal.timeout(COUNT_WITHIN_MS));
  };
  /** By the latest read, which every stored run that is not in it is added to. */
  const hasRoom = (): boolean => read !== undefined && roomIn(read.identity).free >= NEW_RUN_BYTES;
  return {
    within: async (accept) => {
      await refresh();
      // No await between check and increment: many requests may have waited for the same read.
      if (!hasRoom()) return 'log_nearly_full';
      pending += 1;
      try {
        return await accept();
      } finally {
        pending -= 1;
        stored += 1;
      }
    },
    hasEverything: async () => (await recent()).firstSequence <= 1,
    counts: () => counted.latest().counts,
  };
};
