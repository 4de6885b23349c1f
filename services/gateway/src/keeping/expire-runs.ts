import { readLogAge } from '@runledger/event-log/messages/log-age';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { actOnEach } from '../act-on-each.ts';
import type { Page } from '../views/list-query.decide.ts';
import { OPEN_STATUSES } from '../views/run-view.ts';
import type { SortKey } from '../views/sort-key.decide.ts';
import type { Kit } from '../kit.ts';
import { expiringBefore } from '../runs/facts/expiring.decide.ts';
import type { ExpireNotification, ExpireRun } from '../runs/facts/expire-run.ts';

const PAGE = 1_000;

/** Ends each run of the views that outlives the log, and gives up each notification that does. */
export const expireRuns = async (
  { log, views }: Kit,
  expire: ExpireRun,
  expireNotification: ExpireNotification,
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
