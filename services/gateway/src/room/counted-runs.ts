import { countRuns, NO_RUNS, type RunCounts } from '@runledger/contracts/room/run-counts';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { followSubjects } from '@runledger/event-log/follow/follow-subjects';
import type { RunsIdentity } from '@runledger/event-log/messages/stream-identity';
import { sleep, untilAborted } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { beginningOf, type ProjectionPosition } from '../projection/core/projection-start.ts';
import { readStart } from '../projection/read-start.ts';
import { ViewsUnavailable, type RunViews } from '../projection/run-views.ts';

/** How many runs may still write, by the facts up to a sequence. */
interface Counted {
  readonly sequence: number;
  readonly counts: RunCounts;
}

export interface CountedRuns extends AsyncDisposable {
  readonly latest: () => Counted;
  /** Resolves when the facts up to this sequence are counted, or at the signal. */
  readonly upTo: (sequence: number, late: AbortSignal) => Promise<void>;
}

export interface CountedRunsOptions {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'position'>;
  readonly logger: Logger;
}

const RETRY_AFTER_MS = 1_000;
const STOP_WITHIN_MS = 2_000;

/**
 * Counts the runs that may still write, from the subjects of the log. It begins at the position of the projection, which has
 * the counts of all facts before it; without a valid one it counts the whole log.
 */
export const openCountedRuns = (options: CountedRunsOptions): CountedRuns => {
  const { log, logger } = options;
  const stop = new AbortController();
  const waiting = new Set<() => void>();
  let created: string | undefined;
  let latest: Counted = { sequence: 0, counts: NO_RUNS };

  /** Counts what is still in the log again if facts are missing that were not counted. */
  const goOn = (identity: RunsIdentity): number => {
    const { firstSequence, lastSequence } = identity;
    const isSame = identity.created === created && latest.sequence <= lastSequence;
    if (!isSame || latest.sequence + 1 < firstSequence) {
      latest = { sequence: Math.max(firstSequence - 1, 0), counts: NO_RUNS };
    }
    created = identity.created;
    return latest.sequence;
  };
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        if (created === undefined) {
          const begun = await beginning(options);
          created = begun.stream_created;
          latest = begun;
        }
        await using following = await followSubjects(log, {
          readUpTo: () => latest.sequence,
          after: goOn,
          onMessages: (messages) => {
            const sequence = messages.at(-1)?.sequence ?? latest.sequence;
            latest = { sequence, counts: messages.reduce(countRuns, latest.counts) };
            waiting.forEach((wake) => wake());
          },
        });
        await untilAborted(following.failed, stop.signal);
      } catch (error) {
        logger.warn({ err: error }, 'counting runs was interrupted; trying again');
      }
      await sleep(RETRY_AFTER_MS, stop.signal);
    }
  };
  const running = run();
  return {
    latest: () => latest,
    upTo: async (sequence, late) => {
      while (latest.sequence < sequence && !late.aborted) {
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

/** @throws {LogUnavailable} */
const beginning = async ({ log, views, logger }: CountedRunsOptions): Promise<ProjectionPosition> => {
  const position = await views.position().catch((error: unknown) => {
    if (!(error instanceof ViewsUnavailable)) throw error;
    logger.info({ err: error }, 'the views are unavailable: the runs of the whole log are counted');
    return undefined;
  });
  const { identity, start } = await readStart(log, position, undefined);
  return start.kind === 'continue' ? start.from : beginningOf(identity, 0);
};
