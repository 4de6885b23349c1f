import type { Collection } from 'mongodb';
import { countRuns } from '../core/counts/count-runs.ts';
import { runActivity } from '../core/counts/run-activity.ts';
import { pageOf, type Page } from '../core/page.ts';
import { isSameRun } from '../core/run-view.ts';
import type { ReadingViews } from '../run-views.ts';
import { orUnavailable } from './mongo-errors.ts';
import { runListQuery, webhookListQuery, type ListQuery } from '../core/list-query.ts';
import { scanList } from '../core/scan-list.ts';
import { decideSearch } from '../core/search/run-search.ts';
import { RUN_LIST, WEBHOOK_LIST, type StoredList } from '../core/stored-list.ts';
import { viewOf } from '../core/stored-run.ts';
import { activityReader } from './read-activity.ts';
import { oldestRuns, unsettledRuns } from './oldest-runs.ts';
import { documentCounter, documentReader, idCounter } from './read-lists.ts';
import type { RunDocument } from './run-documents.ts';
import { allViews, erasedViews, viewsToErase, viewsWithFiles } from './views-with-files.ts';

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
): ReadingViews => {
  const reading = { maxTimeMS: readWithinMs };
  const scanLimits = { giveUpAfterMs: readWithinMs / 4, giveUpSearchAfterMs: readWithinMs / 4, clock };
  const countIds = idCounter(runs, readWithinMs);
  const list = <Item>(shown: StoredList<Item>, query: ListQuery, limit: number): Promise<Page<Item>> =>
    orUnavailable(shown.what, readWithinMs, () => {
      const reader = documentReader(runs, shown, { ...reading, limit: limit + 1 });
      return pageOf(scanList(reader, query, scanLimits), limit);
    });
  return {
    find: (key) =>
      orUnavailable('reading a run view', readWithinMs, async () => {
        // By nothing but its id: then a server looks at no other index.
        const document = await runs.findOne({ _id: key.run_id }, reading);
        const view = document ? viewOf(document) : undefined;
        return isSameRun(view, key) ? view : undefined;
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
    listRuns: async (query) => list(RUN_LIST, runListQuery(await decideSearch(query, countIds)), query.limit),
    listWebhooks: (query) => list(WEBHOOK_LIST, webhookListQuery(query), query.limit),
    listOldest: (query) =>
      orUnavailable('listing the oldest runs', readWithinMs, () =>
        pageOf(oldestRuns(runs, query, reading), query.limit),
      ),
    listUnsettled: (query) =>
      orUnavailable('listing unsettled runs', readWithinMs, () =>
        pageOf(unsettledRuns(runs, query, reading), query.limit),
      ),
    listWithFiles: (query) =>
      orUnavailable('listing runs with files', writeWithinMs, () => viewsWithFiles(runs, query)),
    listToErase: (query) =>
      orUnavailable('listing views with files to erase', writeWithinMs, () => viewsToErase(runs, query)),
    listAll: (query) => orUnavailable('listing all views', writeWithinMs, () => allViews(runs, query)),
    listErased: (limit) =>
      orUnavailable('listing views of deleted runs', writeWithinMs, () => erasedViews(runs, limit)),
    ...countViews(runs, readWithinMs),
  };
};

const countViews = (
  runs: Collection<RunDocument>,
  readWithinMs: number,
): Pick<ReadingViews, 'countRuns' | 'runActivity' | 'countQueued' | 'sumOutputBytes'> => {
  const reading = { maxTimeMS: readWithinMs };
  const countIds = idCounter(runs, readWithinMs);
  return {
    countRuns: async (query) =>
      countRuns(documentCounter(runs, readWithinMs), await decideSearch(query, countIds)),
    runActivity: (query) => runActivity(activityReader(runs, readWithinMs), query),
    countQueued: (org_id, atMost) =>
      orUnavailable('counting queued runs', readWithinMs, () =>
        runs.countDocuments({ org_id, status: 'queued' }, { limit: atMost, ...reading }),
      ),
    sumOutputBytes: (org_id, sinceDay) =>
      orUnavailable('adding up output bytes', readWithinMs, async () => {
        const stages = [
          { $match: { org_id, updated_at: { $gte: sinceDay }, output_bytes: { $gt: 0 } } },
          { $group: { _id: null, bytes: { $sum: '$output_bytes' } } },
        ];
        const [sum] = await runs.aggregate<{ readonly bytes: number }>(stages, reading).toArray();
        return sum?.bytes ?? 0;
      }),
  };
};
