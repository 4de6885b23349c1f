import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { readLogAge } from '@runledger/event-log/messages/log-age';
import pLimit from 'p-limit';
import { OPEN_STATUSES } from '../../projection/core/run-view.ts';
import type { SortKey } from '../../projection/core/sort-key.ts';
import type { RunViews } from '../../projection/run-views.ts';
import { whileProjecting } from '../../projection/while-projecting.ts';
import { expiringBefore } from './core/expiring.ts';
import type { ExpireRun } from './expire-run.ts';

export interface ExpireRunsOptions {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'listOldest'>;
  readonly expire: ExpireRun;
  /** Of several gateways with shared views, the one that projects does it. */
  readonly isProjecting: () => boolean;
  readonly logger: Logger;
}

/** Far less than the margin before a run expires, which is 150 s for the shortest age of the log. */
const CHECK_EVERY_MS = 3_000;
const PAGE = 1_000;
const MAX_CONCURRENT = 16;

/** Ends each run of the views that outlives the log, until it is disposed of. */
export const openRunExpiry = (options: ExpireRunsOptions): AsyncDisposable =>
  whileProjecting({
    failure: 'runs that outlive the log could not be ended',
    everyMs: CHECK_EVERY_MS,
    isProjecting: options.isProjecting,
    logger: options.logger,
    work: (stop) => expireRuns(options, stop),
  });

const expireRuns = async ({ log, views, expire }: ExpireRunsOptions, stop: AbortSignal): Promise<void> => {
  const createdBefore = expiringBefore(await readLogAge(log));
  const limit = pLimit(MAX_CONCURRENT);
  let after: SortKey | undefined;
  do {
    const oldest = { statuses: OPEN_STATUSES, createdBefore, after, limit: PAGE };
    const { items, end } = await views.listOldest(oldest);
    try {
      await limit.map(items, async (key) => {
        if (!stop.aborted) await expire(key);
      });
    } finally {
      // After a failure, no more runs begin to end.
      limit.clearQueue();
    }
    after = end;
  } while (after !== undefined && !stop.aborted);
};
