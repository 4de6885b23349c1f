import type { Collection } from 'mongodb';
import { pageOf } from '../core/page.ts';
import { isSameRun } from '../core/run-view.ts';
import type { RunViews } from '../run-views.ts';
import { orUnavailable } from './mongo-errors.ts';
import { runListQuery, webhookListQuery } from '../core/list-query.ts';
import { scanList } from '../core/scan-list.ts';
import { ROW_FIELDS, rowOf, viewOf } from '../core/stored-run.ts';
import { documentReader } from './read-lists.ts';
import type { RunDocument } from './run-documents.ts';

export interface ReadLimits {
  readonly readWithinMs: number;
  /** For what the projection reads before it writes. */
  readonly writeWithinMs: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** The reading half of the views in MongoDB. */
export const readViews = (
  runs: Collection<RunDocument>,
  { readWithinMs, writeWithinMs, clock }: ReadLimits,
): Pick<RunViews, 'find' | 'load' | 'listRuns' | 'listWebhooks' | 'countQueued'> => {
  const reading = { maxTimeMS: readWithinMs };
  const scanLimits = { giveUpAfterMs: readWithinMs / 4, clock };
  return {
    find: ({ org_id, run_id }) =>
      orUnavailable('reading a run view', readWithinMs, async () => {
        const document = await runs.findOne({ _id: run_id, org_id }, reading);
        return document ? viewOf(document) : undefined;
      }),
    load: (keys) =>
      orUnavailable('loading run views', writeWithinMs, async () => {
        const ids = keys.map(({ run_id }) => run_id);
        const documents = await runs.find({ _id: { $in: ids } }).toArray();
        const found = new Map(documents.map(viewOf).map((view) => [view.run.run_id, view]));
        return keys.flatMap((key) => {
          const view = found.get(key.run_id);
          return isSameRun(view, key) ? [view] : [];
        });
      }),
    listRuns: (query) =>
      orUnavailable('listing run views', readWithinMs, () => {
        const reader = documentReader(runs, {
          ...reading,
          limit: query.limit + 1,
          toItem: (stored) => ({ item: viewOf(stored), bytes: Buffer.byteLength(stored.run) }),
        });
        return pageOf(scanList(reader, runListQuery(query), scanLimits), query.limit);
      }),
    listWebhooks: (query) =>
      orUnavailable('listing runs with a webhook', readWithinMs, () => {
        const reader = documentReader(runs, {
          ...reading,
          limit: query.limit + 1,
          projection: ROW_PROJECTION,
          toItem: (stored) => ({ item: rowOf(stored), bytes: 0 }),
        });
        return pageOf(scanList(reader, webhookListQuery(query), scanLimits), query.limit);
      }),
    countQueued: (org_id, atMost) =>
      orUnavailable('counting queued runs', readWithinMs, () =>
        runs.countDocuments({ org_id, status: 'queued' }, { limit: atMost, ...reading }),
      ),
  };
};

/** `_id` is always given. */
const ROW_PROJECTION = Object.fromEntries([...ROW_FIELDS, 'sort_key'].map((field) => [field, 1])) as Readonly<
  Record<string, 1>
>;
