import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Logger } from '@runledger/event-log/connect/logger';
import { openBreaker, type Breaker } from '../../breaker/breaker.ts';
import { ViewsUnavailable, type RunViews } from '../../projection/run-views.ts';
import type { RunView } from '../../projection/core/run-view.ts';

export type FindView = (key: RunKey) => Promise<RunView | ViewsUnavailable | undefined>;

/** Longer than the views themselves take to say that they are away. */
const TIMEOUT_MS = 5_000;

/** Views that are away are a value: the caller goes on with the log. */
export const openFindView = (
  views: Pick<RunViews, 'find'>,
  logger: Logger,
): Breaker<[RunKey], Awaited<ReturnType<FindView>>> =>
  openBreaker<[RunKey], Awaited<ReturnType<FindView>>>({
    action: (_signal, key) => views.find(key),
    timeoutMs: TIMEOUT_MS,
    opensOn: 'first_failure',
    fallback: (why) => {
      if (why.kind !== 'failed') return new ViewsUnavailable(`the run views are away (${why.kind})`);
      if (!(why.error instanceof ViewsUnavailable)) throw why.error;
      logger.debug({ err: why.error }, 'a run view could not be read');
      return why.error;
    },
    onChange: (state) => {
      if (state === 'open')
        logger.warn({ views: 'away' }, 'the run views are away; runs are read from the log');
      else logger.info({ views: 'back' }, 'the run views are back');
    },
  });
