import { allRead } from '@runledger/contracts/all-read';
import type { Run } from '@runledger/contracts/fold/run';
import type { AuditAction } from '@runledger/contracts/audit-actions';
import type { AuditDetails } from '@runledger/contracts/audit-record';
import type { ManyRunsRequest } from '@runledger/contracts/http/runs/runs';
import type { Context } from 'koa';
import type { RunQuery } from '../views/list-query.decide.ts';
import type { RunView } from '../views/run-view.ts';
import type { SortKey } from '../views/sort-key.decide.ts';
import { ofCompleteViews, type FreshViews } from '../views/fresh-views.ts';
import { ViewsUnavailable, type RunViews } from '../views/run-views.ts';
import { requestedAction } from '../records/audit/record-operation.ts';
import type { Caller, ExtraCheck } from '../door/operation.ts';
import { cursorAt } from '../door/pagination.ts';
import { runCursorProblems, sortKeyAt } from './filter.ts';
import { own } from '../door/compiled.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';

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

/** Each run is decided on by itself, so a page takes seconds. */
const PAGE = 1_000;

/** A page of the runs that match and have one of these statuses. @throws {ViewsUnavailable} also when some may be missing */
export const findMatching = async (
  { views }: Kit,
  { fresh }: Runs,
  query: BulkQuery,
  concerned: readonly Run['status'][],
): Promise<MatchingRuns> => {
  const statuses = concerned.filter((status) => query.statuses?.includes(status) ?? true);
  if (statuses.length === 0) return { items: [], createdBefore: undefined, end: undefined };
  const list = () => views.listRuns({ ...query, statuses, limit: PAGE });
  const { items, end } = await completely(views, fresh, list);
  return { items, createdBefore: behindNewest(items), end };
};

/** A list of all that match. @throws {ViewsUnavailable} also when some may be missing */
export const completely = async <Listed>(
  views: RunViews,
  fresh: FreshViews,
  list: () => Promise<Listed>,
): Promise<Listed> => {
  const listed = await ofCompleteViews(views, fresh, list);
  if (listed !== undefined) return listed;
  throw new ViewsUnavailable(
    'the views lack facts of the log, so runs may be missing among those that match',
  );
};

const behindNewest = ([newest]: readonly RunView[]): Date | undefined =>
  newest && new Date(Date.parse(newest.run.created_at) + 1);

interface Bulk<Counts> {
  readonly action: AuditAction;
  /** What the audit record keeps of the counts. */
  readonly detailsOf: (counts: Counts) => AuditDetails;
  readonly carryOut: (query: BulkQuery, dryRun: boolean) => Promise<BulkResult<Counts>>;
}

/** Carries out a request about the runs that match its filter, between two audit records unless it only counts them. */
export const carryOutBulk = async <Counts extends object>(
  { selectRuns, record }: Runs,
  { filter, cursor, dry_run, ...unread }: ManyRunsRequest,
  caller: Caller,
  ctx: Context,
  { action, detailsOf, carryOut }: Bulk<Counts>,
): Promise<Counts & { created_before: string | null; next_cursor: string | null }> => {
  allRead(unread);
  const behind = sortKeyAt(cursor);
  const selected = await selectRuns(caller.org_id, filter);
  const query = { ...selected, ...(behind === undefined ? {} : { behind }) };
  const filtered = requestedAction(ctx, caller, { action, details: { members: Object.keys(filter) } });
  const { counts, createdBefore, end } = await (dry_run === true
    ? carryOut(query, true)
    : record(
        filtered,
        () => carryOut(query, false),
        ({ counts }) => ({ details: detailsOf(counts) }),
      ));
  const created_before = createdBefore?.toISOString() ?? null;
  return { ...counts, created_before, next_cursor: cursorAt(end) };
};

export const bulkProblems: ExtraCheck = ({ body }) => runCursorProblems(own(body, 'cursor'), 'body');
