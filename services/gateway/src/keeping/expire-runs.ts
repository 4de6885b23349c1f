import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { readLogAge } from '@runledger/event-log/messages/log-age';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { actOnEach } from '../act-on-each.ts';
import type { Page } from '../views/list-query.decide.ts';
import { OPEN_STATUSES } from '../views/run-view.ts';
import type { SortKey } from '../views/sort-key.decide.ts';
import type { RunViews } from '../views/run-views.ts';
import { whileProjecting } from '../while-projecting.ts';
import { expiringBefore } from '../runs/facts/expiring.decide.ts';
import type { ExpireNotification, ExpireRun } from '../runs/facts/expire-run.ts';

export interface ExpireRunsOptions {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'listOldest' | 'listUnsettled'>;
  readonly expire: ExpireRun;
  readonly expireNotification: ExpireNotification;
  /** Of several gateways with shared views, the one that projects does it. */
  readonly isProjecting: () => boolean;
  readonly logger: Logger;
}

/** Far less than the margin before a run expires, which is 150 s for the shortest age of the log. */
const CHECK_EVERY_MS = 3_000;
const PAGE = 1_000;

/** Ends each run of the views that outlives the log, and gives up each notification that does, until it is disposed of. */
export const openRunExpiry = (options: ExpireRunsOptions): AsyncDisposable =>
  whileProjecting({
    failure: 'runs that outlive the log could not be ended',
    everyMs: CHECK_EVERY_MS,
    isProjecting: options.isProjecting,
    logger: options.logger,
    work: (stop) => expireRuns(options, stop),
  });

const expireRuns = async (
  { log, views, expire, expireNotification }: ExpireRunsOptions,
  stop: AbortSignal,
): Promise<void> => {
  const createdBefore = expiringBefore(await readLogAge(log));
  const from = (after: SortKey | undefined) => ({ createdBefore, after, limit: PAGE });
  await expireAll((after) => views.listOldest({ statuses: OPEN_STATUSES, ...from(after) }), expire, stop);
  await expireAll((after) => views.listUnsettled(from(after)), expireNotification, stop);
};

const expireAll = async (
  list: (after: SortKey | undefined) => Promise<Page<RunKey>>,
  expire: (key: RunKey) => Promise<void>,
  stop: AbortSignal,
): Promise<void> => {
  let after: SortKey | undefined;
  do {
    const { items, end } = await list(after);
    await actOnEach(items, async (key) => {
      if (!stop.aborted) await expire(key);
    });
    after = end;
  } while (after !== undefined && !stop.aborted);
};
