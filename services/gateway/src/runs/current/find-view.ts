import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Logger } from '@runledger/event-log/connect/logger';
import { openBreaker, type Breaker } from '../../breaker/breaker.ts';
import { ViewsUnavailable, type RunViews } from '../../projection/run-views.ts';
import type { StoredView } from '../../projection/core/run-view.ts';

export type FindView = (key: RunKey) => Promise<StoredView | ViewsUnavailable | undefined>;

/** Longer than the views themselves take to report that they are unavailable. */
const TIMEOUT_MS = 5_000;

/** Unavailable views are a value: the caller continues with the log. */
export const openFindView = (
  views: Pick<RunViews, 'find'>,
  logger: Logger,
): Breaker<[RunKey], Awaited<ReturnType<FindView>>> =>
  openBreaker<[RunKey], Awaited<ReturnType<FindView>>>({
    action: (_signal, key) => views.find(key),
    timeoutMs: TIMEOUT_MS,
    opensOn: 'first_failure',
    fallback: (why) => {
      if (why.kind !== 'failed') return new ViewsUnavailable(`the run views are unavailable (${why.kind})`);
      if (!(why.error instanceof ViewsUnavailable)) throw why.error;
      logger.debug({ err: why.error }, 'a run view could not be read');
      return why.error;
    },
    onChange: (state) => {
      if (state === 'open')
        logger.warn({ views: 'unavailable' }, 'the run views are unavailable; runs are read from the log');
      else logger.info({ views: 'available' }, 'the run views are available again');
    },
  });
