import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Logger } from '@runledger/event-log/connect/logger';
import { ViewsUnavailable, type RunView, type RunViews } from '../../projection/run-views.ts';

export type FindView = (key: RunKey) => Promise<RunView | ViewsUnavailable | undefined>;

export interface FindViewOptions {
  readonly views: RunViews;
  readonly logger: Logger;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

const TRY_EVERY_MS = 1_000;

/** While the views are away, one request in a while tries them, and no other waits for them. */
export const findView = ({ views, logger, clock }: FindViewOptions): FindView => {
  let away = false;
  let nextTry = 0;
  const found = (isAway: boolean): void => {
    if (away !== isAway) {
      const fields = { views: isAway ? 'away' : 'back' };
      if (isAway) logger.warn(fields, 'the run views are away; runs are read from the log');
      else logger.info(fields, 'the run views are back');
    }
    away = isAway;
  };
  return async (key) => {
    if (away && clock() < nextTry) return new ViewsUnavailable('the run views were away a moment ago');
    // A try may take longer than the time between two of them.
    if (away) nextTry = Infinity;
    try {
      const view = await views.find(key);
      found(false);
      return view;
    } catch (error) {
      nextTry = clock() + TRY_EVERY_MS;
      if (!(error instanceof ViewsUnavailable)) throw error;
      found(true);
      logger.debug({ err: error }, 'a run view could not be read');
      return error;
    }
  };
};
