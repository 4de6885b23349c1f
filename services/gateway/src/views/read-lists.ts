import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { countRuns, runActivity, type ActivityReader } from './counts.decide.ts';
import {
  pageOf,
  runListQuery,
  webhookListQuery,
  RUN_LIST,
  WEBHOOK_LIST,
  type FieldCondition,
  type ListQuery,
  type Page,
  type StoredList,
  type UnsettledQuery,
} from './list-query.decide.ts';
import { soughtIn, type CountIds } from './run-search.decide.ts';
import { FINAL_STATUSES, type StoredView } from './run-view.ts';
import type { AllViews, ListingViews } from './run-views.ts';
import { scanList, type ScanLimits } from './scan-list.ts';
import { sortKeysIn } from './sort-key.decide.ts';
import { VIEW_FIELDS, viewOf } from './stored-run.decide.ts';
import type { RowQuery, ViewReader } from './stored-queries.decide.ts';

/** The lists of views, and what is counted of them, as any database reads them. */
export const readLists = (reader: ViewReader, limits: ScanLimits): ListingViews => {
  const countIds: CountIds = (org_id, { from, before }, atMost) => {
    const where = { org_id, run_id: { $gte: from, $lt: before }, sort_key: { $gt: '' } };
    return reader.count({ index: 'by_id', where }, atMost);
  };
  const list = <Item>(shown: StoredList<Item>, query: ListQuery, limit: number): Promise<Page<Item>> =>
    reader.limited(() => {
      // One item more says that others follow.
      const { sortKeyAt } = reader;
      const find = (part: Parameters<typeof sortKeyAt>[0]) => reader.find(part, shown, limit + 1);
      return pageOf(scanList({ find, sortKeyAt }, query, limits), limit);
    });
  const oldest = (
    matching: { readonly org_id?: string; readonly conditions: readonly FieldCondition[] },
    { createdBefore, after, limit }: UnsettledQuery,
  ): Promise<Page<RunKey>> => {
    // No sort key begins with another one.
    const range = { ...sortKeysIn({ createdBefore }), ...(after && { from: `${after} ` }) };
    const part = { ...matching, range, isOldestFirst: true };
    return reader.limited(() => pageOf(reader.find(part, KEY_LIST, limit + 1), limit));
  };
  const views = async (query: Omit<RowQuery, 'fields'>): Promise<StoredView[]> =>
    (await reader.rows({ ...query, fields: VIEW_FIELDS, isPatient: true })).map(viewOf);
  return {
    listRuns: async (query) =>
      list(RUN_LIST, runListQuery(query, await soughtIn(query, countIds)), query.limit),
    countRuns: async (query) => countRuns(reader, query, await soughtIn(query, countIds)),
    runActivity: (query) => runActivity(activityReader(reader), query),
    listWebhooks: (query) => list(WEBHOOK_LIST, webhookListQuery(query), query.limit),
    listOldest: ({ org_id, statuses, ...query }) =>
      oldest({ ...(org_id && { org_id }), conditions: [{ field: 'status', values: statuses }] }, query),
    listUnsettled: (query) => oldest({ conditions: [{ field: 'unsettled', values: [1] }] }, query),
    listWithFiles: ({ org_id, endedBefore, limit }) => {
      const isOver = { updated_at: { $lt: endedBefore.toISOString() }, status: { $in: FINAL_STATUSES } };
      const where = { org_id, output_bytes: { $gt: 0 }, ...isOver };
      return views({ index: 'with_files', where, order: 'updated_at', limit });
    },
    listToErase: ({ after, limit }) =>
      views({ index: 'to_erase', where: { to_erase: 1, run_id: { $gt: after } }, order: 'run_id', limit }),
    listAll: listAll(reader),
    listErased: (limit) =>
      views({ index: 'deleted', where: { status: 'deleted', to_erase: 0 }, order: 'updated_at', limit }),
    countQueued: (org_id, atMost) => reader.count({ where: { org_id, status: 'queued' } }, atMost),
    sumOutputBytes: (org_id, sinceDay) => reader.sumOutputBytes(org_id, sinceDay),
  };
};

/** It needs nothing of a database but the four members that views of every version have. */
export const listAll =
  (reader: ViewReader): AllViews['listAll'] =>
  async ({ after, limit }) => {
    const where = { run_id: { $gt: after } };
    const rows = await reader.rows({ where, fields: VIEW_FIELDS, order: 'run_id', limit, isPatient: true });
    return rows.map(viewOf);
  };

const KEY_LIST: StoredList<RunKey> = {
  fields: ['org_id', 'run_id'],
  toItem: ({ org_id, run_id }) => ({ item: { org_id: orgId(org_id), run_id: runId(run_id) }, bytes: 0 }),
};

const activityReader = (reader: ViewReader): ActivityReader => ({
  sortKeyAt: reader.sortKeyAt,
  endedAfter: async ({ org_id }, from, count) => {
    const where = { org_id, ended_ms: { $gte: from } };
    const fields = ['ended_ms'] as const;
    const found = await reader.rows({
      index: 'ended',
      where,
      fields,
      order: 'ended_ms',
      skip: count,
      limit: 1,
    });
    return found[0]?.ended_ms ?? undefined;
  },
  groupEnded: (query, { from, before }) => {
    const ended_ms = { $gte: from, ...(before !== undefined && { $lt: before }) };
    const where = { org_id: query.org_id, ended_ms, created_ms: { $lt: query.to.getTime() } };
    return reader.group({ index: 'ended', where }, query);
  },
  groupOpen: (query, status, { from, before }) => {
    const sort_key = { $gte: from, ...(before !== undefined && { $lt: before }) };
    return reader.group({ index: 'by_status', where: { org_id: query.org_id, status, sort_key } }, query);
  },
});
