import { setTimeout as pause } from 'node:timers/promises';
import { ALL_LIFECYCLES, ALL_WEBHOOKS } from '@runledger/contracts/subjects/run-subjects';
import { lastSequence } from '@runledger/event-log/read/leader-read';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { runsIdentity } from '@runledger/event-log/read/read-run';
import { aborted } from '@runledger/resilience/abort';
import { ViewsUnavailable, type RunViews } from './run-views.ts';
import type { ProjectionPosition } from './core/projection-start.ts';
import { oneAtATime } from '../concurrency/one-at-a-time.ts';

export interface FreshViewsOptions {
  readonly log: EventLog;
  readonly views: RunViews;
  /** How long at most; then whoever asked goes on with the views as they are. */
  readonly patienceMs?: number;
}

/** Waits until the views hold every fact that was in the log when it was called; false when they do not, or nobody knows. */
export type FreshViews = () => Promise<boolean>;

const PATIENCE_MS = 2_000;
const LOOK_EVERY_MS = 25;

/**
 * A list that waits for this first shows whatever an earlier answer of any gateway showed. Where the views stood still
 * all through a wait that ran out, since nobody projects, nobody waits again until they have moved. Views or a log that
 * are away are not told of here: the views say it to whoever reads them, and from what they have a list can be made
 * without the log.
 */
export const freshViews = ({ log, views, patienceMs = PATIENCE_MS }: FreshViewsOptions): FreshViews => {
  const identity = oneAtATime(() => runsIdentity(log));
  const endOfFacts = oneAtATime(() => lastFact(log));
  const look = oneAtATime(() => views.position());
  const lookLater = oneAtATime(async () => {
    await pause(LOOK_EVERY_MS);
    return views.position();
  });
  let stoodStill: { readonly at: Position } | undefined;

  /** False where waiting is of no use, or it is too late; `seen` is given where the views stood meanwhile. */
  const caughtUp = async (late: AbortSignal, seen: Position[]): Promise<boolean> => {
    const { created, lastSequence: end } = await identity();
    const begin = await look();
    if (holds(begin, created, end)) return true;
    // The last message may be no fact, and then no position ever comes to it.
    const last = await endOfFacts();
    if (stoodStill && isSame(stoodStill.at, begin)) return holds(begin, created, last);
    for (let position = begin; ; position = await lookLater()) {
      if (holds(position, created, last)) return true;
      if (late.aborted) return false;
      seen.push(position);
    }
  };
  return async () => {
    const late = AbortSignal.timeout(patienceMs);
    const seen: Position[] = [];
    try {
      const isFresh = await Promise.race([caughtUp(late, seen), aborted(late).then(() => false)]);
      if (isFresh) return true;
      const [first, ...others] = seen;
      if (others.length > 0 && others.every((position) => isSame(position, first)))
        stoodStill = { at: first };
      log.logger.debug({ patience_ms: patienceMs }, 'a list is made from views that are behind');
      return false;
    } catch (error) {
      if (!(error instanceof ViewsUnavailable) && !(error instanceof LogUnavailable)) throw error;
      log.logger.debug({ err: error }, 'how far the views are behind is not known');
      return false;
    }
  };
};

type Position = ProjectionPosition | undefined;

const isSame = (one: Position, other: Position): boolean =>
  one?.stream_created === other?.stream_created && one?.sequence === other?.sequence;

const holds = (position: Position, created: string, sequence: number): boolean =>
  position?.stream_created === created && position.sequence >= sequence;

/** The sequence of the last message that a projection takes. */
const lastFact = async (log: EventLog): Promise<number> =>
  Math.max(
    ...(await Promise.all([ALL_LIFECYCLES, ALL_WEBHOOKS].map((facts) => lastSequence(log, 'RUNS', facts)))),
  );
