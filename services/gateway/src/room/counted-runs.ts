import { countRuns, NO_RUNS } from '@runledger/contracts/room/run-counts';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { followSubjects } from '@runledger/event-log/follow/follow-subjects';
import type { Pulling } from '@runledger/event-log/follow/pull-in-order';
import type { RunsIdentity } from '@runledger/event-log/messages/stream-identity';
import { sleep, untilAborted } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { beginningOf, type ProjectionPosition } from '../projection/core/projection-start.ts';
import { readStart } from '../projection/read-start.ts';
import { ViewsUnavailable, type RunViews } from '../projection/run-views.ts';

/** How many runs may still write, by the facts of a log up to a sequence. */
type Counted = Pick<ProjectionPosition, 'stream_created' | 'sequence' | 'counts'>;

export interface CountedRuns extends AsyncDisposable {
  readonly latest: () => Counted;
  /** Counts here from now on, for a minute. Resolves when the facts up to this sequence are counted, or at the signal. */
  readonly upTo: (sequence: number, late: AbortSignal) => Promise<void>;
}

export interface CountedRunsOptions {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'position'>;
  /** The latest position of the views that this process has seen. */
  readonly seenPosition: () => ProjectionPosition | undefined;
  readonly logger: Logger;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

const COUNT_FOR_MS = 60_000;
const RETRY_AFTER_MS = 1_000;
const STOP_WITHIN_MS = 2_000;
const NOTHING_COUNTED: Counted = { stream_created: '', sequence: 0, counts: NO_RUNS };

/**
 * How many runs may still write. The position of the views says so at no cost, a few seconds late. For a minute after more was
 * asked for, this process counts by itself: it continues from that position with the subjects of the log, or counts the
 * whole log when there is none.
 */
export const openCountedRuns = (options: CountedRunsOptions): CountedRuns => {
  const { log, seenPosition, logger, clock } = options;
  const stop = new AbortController();
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
  const idle = async (): Promise<void> => {
    while (clock() < countUntil && !stop.signal.aborted) await sleep(countUntil - clock(), stop.signal);
  };
  const count = async (): Promise<void> => {
    counted = await beginning(options);
    await using following = await followFrom(counted, log, onCounted);
    await Promise.race([following.failed, idle()]);
  };
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await untilAborted(asked.promise, stop.signal);
      try {
        if (!stop.signal.aborted) await count();
      } catch (error) {
        logger.warn({ err: error }, 'counting runs was interrupted; trying again');
      }
      counted = undefined;
      if (clock() >= countUntil) asked = Promise.withResolvers();
      else await sleep(RETRY_AFTER_MS, stop.signal);
    }
  };
  const running = run();
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
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      // While the broker is unavailable, this may take too long. Then it ends with the connection.
      await within(STOP_WITHIN_MS, running, () => undefined);
    },
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
const beginning = async (options: CountedRunsOptions): Promise<ProjectionPosition> => {
  const { log, seenPosition } = options;
  const { identity, start } = await readStart(
    log,
    seenPosition() ?? (await readPosition(options)),
    undefined,
  );
  return start.kind === 'continue' ? start.from : beginningOf(identity, 0);
};

const readPosition = ({ views, logger }: CountedRunsOptions): Promise<ProjectionPosition | undefined> =>
  views.position().catch((error: unknown) => {
    if (!(error instanceof ViewsUnavailable)) throw error;
    logger.info({ err: error }, 'the views are unavailable: the runs of the whole log are counted');
    return undefined;
  });
