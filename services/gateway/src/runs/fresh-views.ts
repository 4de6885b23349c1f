import { setTimeout as pause } from 'node:timers/promises';
import { ALL_LIFECYCLES, ALL_WEBHOOKS } from '@runledger/contracts/subjects';
import { aborted } from '@runledger/event-log/abort-signal';
import { lastSequence } from '@runledger/event-log/ask-leader';
import { LogUnavailable, type EventLog } from '@runledger/event-log/event-log';
import { runsIdentity } from '@runledger/event-log/read-run';
import { ViewsUnavailable, type ProjectionPosition, type RunViews } from '../views/run-views.ts';
import { oneAtATime } from './one-at-a-time.ts';

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
 * A list that waits for this first shows whatever an earlier answer of any gateway showed. Views or a log that are away
 * are not told of here: the views say it to whoever reads them, and from what they have a list can be made without the log.
 */
export const freshViews = ({ log, views, patienceMs = PATIENCE_MS }: FreshViewsOptions): FreshViews => {
  const identity = oneAtATime(() => runsIdentity(log));
  const endOfFacts = oneAtATime(() => lastFact(log));
  const look = oneAtATime(() => views.position());
  const lookLater = oneAtATime(async () => {
    await pause(LOOK_EVERY_MS);
    return views.position();
  });
  const caughtUp = async (late: AbortSignal): Promise<void> => {
    const { created, lastSequence: end } = await identity();
    let position = await look();
    if (holds(position, created, end)) return;
    // The last message may be no fact, and then no position ever comes to it.
    const last = await endOfFacts();
    for (; !late.aborted && !holds(position, created, last); position = await lookLater());
  };
  return async () => {
    const late = AbortSignal.timeout(patienceMs);
    try {
      await Promise.race([caughtUp(late), aborted(late)]);
      if (late.aborted)
        log.logger.debug({ patience_ms: patienceMs }, 'a list is made from views that are behind');
      return !late.aborted;
    } catch (error) {
      if (!(error instanceof ViewsUnavailable) && !(error instanceof LogUnavailable)) throw error;
      log.logger.debug({ err: error }, 'how far the views are behind is not known');
      return false;
    }
  };
};

const holds = (position: ProjectionPosition | undefined, created: string, sequence: number): boolean =>
  position?.stream_created === created && position.sequence >= sequence;

/** The sequence of the last message that a projection takes. */
const lastFact = async (log: EventLog): Promise<number> =>
  Math.max(
    ...(await Promise.all([ALL_LIFECYCLES, ALL_WEBHOOKS].map((facts) => lastSequence(log, 'RUNS', facts)))),
  );
