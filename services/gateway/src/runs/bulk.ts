import { allRead } from '@runledger/contracts/all-read';
import type { Run } from '@runledger/contracts/fold/run';
import type { OrgId } from '@runledger/contracts/ids';
import type { AuditAction } from '@runledger/contracts/audit-actions';
import type { AuditDetails } from '@runledger/contracts/audit-record';
import type { ManyRunsRequest } from '@runledger/contracts/http/runs/runs';
import type { Context } from 'koa';
import type { Page } from '../views/list-query.decide.ts';
import type { RunView } from '../views/run-view.ts';
import type { SortKey } from '../views/sort-key.decide.ts';
import { ofCompleteViews, type FreshViews } from '../views/fresh-views.ts';
import { ViewsUnavailable, type RunViews } from '../views/run-views.ts';
import { requestedAction } from '../records/audit/record-operation.ts';
import type { Caller } from '../door/operation.ts';
import { cursorAt } from '../door/pagination.ts';
import { sortKeyAt } from './filter.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';

/** A page takes seconds: each run is decided on by itself. */
export const BULK_PAGE = 1_000;

/** A list of all that match. @throws {ViewsUnavailable} also when some may be missing */
export const completely = async <Listed>(
  views: RunViews,
  fresh: FreshViews,
  org_id: OrgId,
  list: () => Promise<Listed>,
): Promise<Listed> => {
  const listed = await ofCompleteViews(views, fresh, org_id, list);
  if (listed !== undefined) return listed;
  throw new ViewsUnavailable(
    'the views lack facts of the log, so runs may be missing among those that match',
  );
};

interface Bulk<Counts> {
  readonly action: AuditAction;
  /** Runs with other statuses are left alone. */
  readonly concerned: readonly Run['status'][];
  /** All match when it is left out. */
  readonly matches?: (view: RunView) => boolean;
  /** The counts of no run. */
  readonly none: Counts;
  /** What the audit record keeps of the counts. */
  readonly detailsOf: (counts: Counts) => AuditDetails;
  /** The runs of a page, the newest first, and which statuses they may have. `end`: where the next page begins, when the page ends early. */
  readonly carryOut: (
    items: readonly RunView[],
    statuses: readonly Run['status'][],
  ) => Promise<{ readonly counts: Counts; readonly end?: SortKey }>;
}

/**
 * Carries out a request about a page of the runs that match its filter, between two audit records unless it only counts them. The views say
 * which runs match. The log is ahead of them, so `carryOut` asks it whether each still matches.
 * @throws {ViewsUnavailable} also when some may be missing @throws what `carryOut` throws
 */
export const carryOutBulk = async <Counts extends { readonly matched: number }>(
  { views }: Kit,
  { fresh, selectRuns, record }: Runs,
  { filter, cursor, dry_run, ...unread }: ManyRunsRequest,
  caller: Caller,
  ctx: Context,
  { action, concerned, matches = () => true, none, detailsOf, carryOut }: Bulk<Counts>,
): Promise<Counts & { created_before: string | null; next_cursor: string | null }> => {
  allRead(unread);
  const behind = sortKeyAt(cursor);
  const selected = await selectRuns(caller.org_id, filter, ['body', 'filter']);
  const statuses = concerned.filter((status) => selected.statuses?.includes(status) ?? true);
  const query = { ...selected, ...(behind === undefined ? {} : { behind }), statuses, limit: BULK_PAGE };
  const carryOutPage = async () => {
    const { items, end }: Page<RunView> =
      statuses.length === 0
        ? { items: [], end: undefined }
        : await completely(views, fresh, caller.org_id, () => views.listRuns(query));
    const matching = items.filter(matches);
    const [newest] = items;
    return {
      // A millisecond after the creation of the newest run.
      created_before: newest ? new Date(Date.parse(newest.run.created_at) + 1).toISOString() : null,
      end,
      ...(dry_run === true
        ? { counts: { ...none, matched: matching.length } }
        : await carryOut(matching, statuses)),
    };
  };
  const filtered = requestedAction(ctx, caller, { action, details: { members: Object.keys(filter) } });
  const { counts, created_before, end } = await (dry_run === true
    ? carryOutPage()
    : record(filtered, carryOutPage, ({ counts }) => ({ details: detailsOf(counts) })));
  return { ...counts, created_before, next_cursor: cursorAt(end) };
};
