import {
  NEW_RUN_BYTES,
  reservedBytes,
  UNKNOWN_MESSAGE_BYTES,
  newRunsLimit,
  countRuns,
  NO_RUNS,
  type RunCounts,
} from '@runledger/contracts/fold/log-capacity';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { runsIdentity, type RunsIdentity } from '@runledger/event-log/read/stream-identity';
import { oneAtATime } from '@runledger/resilience/one-at-a-time';
import type { Kit } from '../../kit.ts';
import { followSubjects } from '@runledger/event-log/follow/tail-runs';
import type { Pulling } from '@runledger/event-log/follow/pull-in-order';
import { inBackground, sleep, untilAborted } from '@runledger/resilience/abort';
import { beginningOf, type ProjectionPosition } from '../../views/projection-start.decide.ts';
import { readStart } from '../../views/project-batch.ts';
import { ViewsUnavailable } from '../../views/run-views.ts';

/** The room of the log for new runs. The facts of accepted runs always fit. */
export interface LogCapacity {
  /**
   * Calls `accept`, which stores one new run at most, if the log has room for it and for everything that it may write later.
   * @throws {LogUnavailable} and what `accept` throws
   */
  readonly within: <Result>(accept: () => Promise<Result>) => Promise<Result | 'log_nearly_full'>;
  /** Whether the log still has every accepted run. @throws {LogUnavailable} */
  readonly hasEverything: () => Promise<boolean>;
  readonly counts: () => RunCounts;
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
export const logCapacity = ({ log, clock }: Kit, counted: CountedRuns): LogCapacity => {
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
  /** In bytes: what is free for new runs, and what facts that are not counted yet may have reserved, which is not free. */
  const capacityIn = ({ created, bytes, maxBytes, firstSequence, lastSequence }: RunsIdentity) => {
    const { stream_created, sequence, counts } = counted.latest();
    const isCounted = stream_created === created;
    const before = Math.max(isCounted ? sequence : 0, firstSequence - 1);
    const unknown = Math.max(lastSequence - before, 0) * UNKNOWN_MESSAGE_BYTES;
    const used = bytes + (isCounted ? reservedBytes(counts) : 0) + unknown;
    return { free: newRunsLimit(maxBytes) - used - (pending + stored) * NEW_RUN_BYTES, unknown };
  };
  const isFar = (identity: RunsIdentity): boolean => {
    const { free, unknown } = capacityIn(identity);
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
  const hasCapacity = (): boolean => read !== undefined && capacityIn(read.identity).free >= NEW_RUN_BYTES;
  return {
    within: async (accept) => {
      await refresh();
      // No await between check and increment: many requests may have waited for the same read.
      if (!hasCapacity()) return 'log_nearly_full';
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

/** How many runs may still write, by the facts of a log up to a sequence. */
interface Counted {
  readonly stream_created: string;
  readonly sequence: number;
  readonly counts: ProjectionPosition['counts'];
}

interface CountedRuns extends AsyncDisposable {
  readonly latest: () => Counted;
  /** Counts here from now on, for a minute. Resolves when the facts up to this sequence are counted, or at the signal. */
  readonly upTo: (sequence: number, late: AbortSignal) => Promise<void>;
}

/** The latest position of the views that this process has seen. */
export type SeenPosition = () => ProjectionPosition | undefined;

const COUNT_FOR_MS = 60_000;
const RETRY_AFTER_MS = 1_000;
const NOTHING_COUNTED: Counted = { stream_created: '', sequence: 0, counts: NO_RUNS };

/**
 * How many runs may still write. The position of the views says so at no cost, a few seconds late. For a minute after more was
 * asked for, this process counts by itself: it continues from that position with the subjects of the log, or counts the
 * whole log when there is none.
 */
export const openCountedRuns = (kit: Kit, seenPosition: SeenPosition): CountedRuns => {
  const { log, logger, clock } = kit;
  const waiting = new Set<() => void>();
  let asked = Promise.withResolvers<void>();
  let countUntil = -Infinity;
  /** While this process counts by itself. */
  let counted: Counted | undefined;

  const latest = (): Counted => counted ?? seenPosition() ?? NOTHING_COUNTED;
  const onCounted = (next: Counted): void => {
    counted = next;
    waiting.forEach((wake) => wake());
  };
  const idle = async (stop: AbortSignal): Promise<void> => {
    while (clock() < countUntil && !stop.aborted) await sleep(countUntil - clock(), stop);
  };
  const count = async (stop: AbortSignal): Promise<void> => {
    counted = await beginning(kit, seenPosition);
    await using following = await followFrom(counted, log, onCounted);
    await Promise.race([following.failed, idle(stop)]);
  };
  const counting = inBackground(async (stop) => {
    while (!stop.aborted) {
      await untilAborted(asked.promise, stop);
      try {
        if (!stop.aborted) await count(stop);
      } catch (error) {
        logger.warn({ err: error }, 'counting runs was interrupted; trying again');
      }
      counted = undefined;
      if (clock() >= countUntil) asked = Promise.withResolvers();
      else await sleep(RETRY_AFTER_MS, stop);
    }
  });
  return {
    latest,
    upTo: async (sequence, late) => {
      countUntil = clock() + COUNT_FOR_MS;
      asked.resolve();
      while (latest().sequence < sequence && !late.aborted) {
        const next = Promise.withResolvers<void>();
        waiting.add(next.resolve);
        await untilAborted(next.promise, late);
        waiting.delete(next.resolve);
      }
    },
    ...counting,
  };
};

/** Counts the facts behind this position. @throws {LogUnavailable} at the start */
const followFrom = (begun: Counted, log: EventLog, onCounted: (next: Counted) => void): Promise<Pulling> => {
  let at = begun;
  return followSubjects(log, {
    readUpTo: () => at.sequence,
    after: (identity) => {
      at = goOn(at, identity);
      return at.sequence;
    },
    onMessages: (messages) => {
      const sequence = messages.at(-1)?.sequence ?? at.sequence;
      at = { ...at, sequence, counts: messages.reduce(countRuns, at.counts) };
      onCounted(at);
    },
  });
};

/** Counts what is still in the log again if facts are missing that were not counted. */
const goOn = (at: Counted, { created, firstSequence, lastSequence }: RunsIdentity): Counted => {
  const isSame = at.stream_created === created && at.sequence <= lastSequence;
  if (isSame && at.sequence + 1 >= firstSequence) return at;
  return { stream_created: created, sequence: Math.max(firstSequence - 1, 0), counts: NO_RUNS };
};

/** @throws {LogUnavailable} */
const beginning = async (kit: Kit, seenPosition: SeenPosition): Promise<ProjectionPosition> => {
  const seen = seenPosition() ?? (await readPosition(kit));
  const { identity, start } = await readStart(kit.log, seen, undefined);
  return start.kind === 'continue' ? start.from : beginningOf(identity, 0);
};

const readPosition = ({ views, logger }: Kit): Promise<ProjectionPosition | undefined> =>
  views.position().catch((error: unknown) => {
    if (!(error instanceof ViewsUnavailable)) throw error;
    logger.info({ err: error }, 'the views are unavailable: the runs of the whole log are counted');
    return undefined;
  });
