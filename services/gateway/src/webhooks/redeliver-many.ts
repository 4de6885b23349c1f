import type { SortKey } from '../projection/core/sort-key.ts';
import type { CompleteViewsOptions } from '../projection/of-complete-views.ts';
import type { RunViews } from '../projection/run-views.ts';
import { completely } from '../runs/bulk/matching-runs.ts';
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

export interface RedeliverManyOptions extends CompleteViewsOptions {
  readonly views: Pick<RunViews, 'listWebhooks' | 'position'>;
  readonly redeliver: RedeliverRun;
}

/** @throws {LogUnavailable} when some redeliveries may have been requested @throws {ViewsUnavailable} also when some may be missing */
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
  ({ views, fresh, redeliver }: RedeliverManyOptions): RedeliverMany =>
  async (which, by, dryRun) => {
    const list = () => views.listWebhooks({ ...which, limit: PAGE });
    const { items, end } = await completely({ views, fresh }, list);
    if (dryRun) return { matched: items.length, requested: 0, end };
    let requested = 0;
    await actOnEach(items, async ({ org_id, run_id }) => {
      const { kind } = await redeliver({ org_id, run_id }, by, which.statuses);
      if (kind === 'requested') requested += 1;
    });
    return { matched: items.length, requested, end };
  };
