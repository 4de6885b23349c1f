import type { Run } from '@runledger/contracts/fold/run';
import type { RunQuery } from '../../projection/core/list-query.ts';
import type { RunView } from '../../projection/core/run-view.ts';
import type { SortKey } from '../../projection/core/sort-key.ts';
import { ofCompleteViews, type CompleteViewsOptions } from '../../projection/of-complete-views.ts';
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

export interface FindMatchingOptions extends CompleteViewsOptions {
  readonly views: Pick<RunViews, 'listRuns' | 'position'>;
}

/** Each run is decided on by itself, so a page takes seconds. */
const PAGE = 1_000;

export const findMatching =
  ({ views, fresh }: FindMatchingOptions): FindMatching =>
  async (query, concerned) => {
    const statuses = concerned.filter((status) => query.statuses?.includes(status) ?? true);
    if (statuses.length === 0) return { items: [], createdBefore: undefined, end: undefined };
    const list = () => views.listRuns({ ...query, statuses, limit: PAGE });
    const { items, end } = await completely({ views, fresh }, list);
    return { items, createdBefore: behindNewest(items), end };
  };

/** A list of all that match. @throws {ViewsUnavailable} also when some may be missing */
export const completely = async <Listed>(
  complete: CompleteViewsOptions,
  list: () => Promise<Listed>,
): Promise<Listed> => {
  const listed = await ofCompleteViews(complete, list);
  if (listed !== undefined) return listed;
  throw new ViewsUnavailable(
    'the views lack facts of the log, so runs may be missing among those that match',
  );
};

const behindNewest = ([newest]: readonly RunView[]): Date | undefined =>
  newest && new Date(Date.parse(newest.run.created_at) + 1);
