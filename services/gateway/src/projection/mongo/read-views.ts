import type { Collection } from 'mongodb';
import { pageOf } from '../core/page.ts';
import { isSameRun } from '../core/run-view.ts';
import type { RunViews } from '../run-views.ts';
import { orUnavailable } from './mongo-errors.ts';
import { ROW_FIELDS, rowOf, viewOf, type RunDocument } from './run-documents.ts';
import { runListQuery, webhookListQuery } from './run-queries.ts';
import { scanList, type ScanLimits } from './scan-list.ts';

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
  const scanLimits: ScanLimits = { giveUpAfterMs: readWithinMs / 4, clock, ...reading };
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
        const toItem = (document: RunDocument) => ({
          item: viewOf(document),
          bytes: Buffer.byteLength(document.run),
        });
        const listed = { limit: query.limit + 1, toItem };
        return pageOf(scanList(runs, runListQuery(query), listed, scanLimits), query.limit);
      }),
    listWebhooks: (query) =>
      orUnavailable('listing runs with a webhook', readWithinMs, () => {
        const toItem = (document: RunDocument) => ({ item: rowOf(document), bytes: 0 });
        const listed = { limit: query.limit + 1, projection: ROW_FIELDS, toItem };
        return pageOf(scanList(runs, webhookListQuery(query), listed, scanLimits), query.limit);
      }),
    countQueued: (org_id, atMost) =>
      orUnavailable('counting queued runs', readWithinMs, () =>
        runs.countDocuments({ org_id, status: 'queued' }, { limit: atMost, ...reading }),
      ),
  };
};
