import type { AuditAction } from '@runledger/contracts/audit/audit-actions';
import type { AuditDetails } from '@runledger/contracts/audit/audit-record';
import type { ManyRunsRequest } from '@runledger/contracts/http/runs/runs';
import type { RecordAction } from '@runledger/event-log/audit/record-action';
import type { Context } from 'koa';
import { requestedAction } from '../../audit/requested-action.ts';
import type { Caller, ExtraCheck } from '../../http/operation.ts';
import { cursorAt } from '../../http/pagination.ts';
import { listRange, runCursorProblems, sortKeyAt } from '../list/list-range.ts';
import { runFilterOf } from '../list/run-filter.ts';
import type { ReadSearch } from '../list/run-search.ts';
import { own } from '../../validation/node.ts';
import type { BulkQuery, BulkResult } from './matching-runs.ts';

export interface BulkOptions<Counts> {
  readonly searchOf: ReadSearch;
  readonly record: RecordAction;
  readonly action: AuditAction;
  /** What the audit record keeps of the counts. */
  readonly detailsOf: (counts: Counts) => AuditDetails;
}

/** Carries out a request about the runs that match its filter, between two audit records unless it only counts them. */
export const carryOutBulk = async <Counts extends object>(
  { filter, cursor, dry_run }: ManyRunsRequest,
  caller: Caller,
  ctx: Context,
  { searchOf, record, action, detailsOf }: BulkOptions<Counts>,
  carryOut: (query: BulkQuery, dryRun: boolean) => Promise<BulkResult<Counts>>,
): Promise<Counts & { created_before: string | null; next_cursor: string | null }> => {
  const { org_id } = caller;
  const search = await searchOf(org_id, filter.search);
  const query = { org_id, ...runFilterOf(filter), ...search, ...listRange(filter, sortKeyAt(cursor)) };
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
