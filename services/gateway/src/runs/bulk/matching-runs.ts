import type { Run } from '@runledger/contracts/fold/run';
import type { FreshViews } from '../../projection/fresh-views.ts';
import type { RunQuery } from '../../projection/core/list-query.ts';
import type { RunView } from '../../projection/core/run-view.ts';
import type { SortKey } from '../../projection/core/sort-key.ts';
import { ViewsUnavailable, type RunViews } from '../../projection/run-views.ts';

/** Which runs a request concerns, apart from the size of a page. */
export type BulkQuery = Omit<RunQuery, 'limit'>;

interface BulkPage {
  /** A millisecond after the creation of the newest run of this page; undefined when the page is empty. */
  readonly createdBefore: Date | undefined;
  /** Where the next page begins; undefined when nothing follows. */
  readonly end: SortKey | undefined;
}

/** What was done with the runs of a page. */
export interface BulkResult<Counts> extends BulkPage {
  readonly counts: Counts;
}

interface MatchingRuns extends BulkPage {
  /** The newest first. */
  readonly items: readonly RunView[];
}

/** A page of the runs that match and have one of these statuses. @throws {ViewsUnavailable} also when some may be missing */
export type FindMatching = (query: BulkQuery, concerned: readonly Run['status'][]) => Promise<MatchingRuns>;

export interface FindMatchingOptions {
  readonly views: Pick<RunViews, 'listRuns'>;
  readonly fresh: Pick<FreshViews, 'becomeFresh'>;
}

/** Each run is decided on by itself, so a page takes seconds. */
const PAGE = 1_000;

export const findMatching =
  ({ views, fresh }: FindMatchingOptions): FindMatching =>
  async (query, concerned) => {
    const statuses = concerned.filter((status) => query.statuses?.includes(status) ?? true);
    if (statuses.length === 0) return { items: [], createdBefore: undefined, end: undefined };
    if (!(await fresh.becomeFresh()))
      throw new ViewsUnavailable(
        'the views lack facts of the log, so runs may be missing among those that match',
      );
    const { items, end } = await views.listRuns({ ...query, statuses, limit: PAGE });
    return { items, createdBefore: behindNewest(items), end };
  };

const behindNewest = ([newest]: readonly RunView[]): Date | undefined =>
  newest && new Date(Date.parse(newest.run.created_at) + 1);
