import type { SortKey } from '../projection/core/sort-key.ts';
import type { RunViews } from '../projection/run-views.ts';
import type { WebhookQuery } from '../projection/core/list-query.ts';
import { actOnEach } from '../concurrency/act-on-each.ts';
import type { RedeliverRun, Requester } from './redeliver-run.ts';

interface RedeliveredMany {
  /** Runs of this page, which match the filter. */
  readonly matched: number;
  /** Runs of this page whose notification is sent again. The others cannot be redelivered, or no longer match. */
  readonly requested: number;
  /** Where the next page begins; undefined when nothing follows. */
  readonly end: SortKey | undefined;
}

export interface RedeliverManyOptions {
  readonly views: RunViews;
  readonly redeliver: RedeliverRun;
}

/** @throws {LogUnavailable} when some redeliveries may have been requested @throws {ViewsUnavailable} */
export type RedeliverMany = (
  which: Omit<WebhookQuery, 'limit'>,
  by: Requester,
  dryRun: boolean,
) => Promise<RedeliveredMany>;

const PAGE = 1_000;

/**
 * The newest first. The views say which runs match. The log is ahead of them and says whether each still matches: a
 * repeated request redelivers no run twice. A delivery that failed again meanwhile matches again, but not on the following
 * pages.
 */
export const redeliverMany =
  ({ views, redeliver }: RedeliverManyOptions): RedeliverMany =>
  async (which, by, dryRun) => {
    const { items, end } = await views.listWebhooks({ ...which, limit: PAGE });
    if (dryRun) return { matched: items.length, requested: 0, end };
    let requested = 0;
    await actOnEach(items, async ({ org_id, run_id }) => {
      const { kind } = await redeliver({ org_id, run_id }, by, which.statuses);
      if (kind === 'requested') requested += 1;
    });
    return { matched: items.length, requested, end };
  };
