import type { Collection, Document, Filter, FindCursor, WithId } from 'mongodb';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import {
  countRuns,
  runActivity,
  pointsOf,
  type ActivityGroup,
  type ActivityReader,
} from '../counts.decide.ts';
import {
  pageOf,
  runListQuery,
  webhookListQuery,
  RUN_LIST,
  WEBHOOK_LIST,
  type Page,
  type ListQuery,
  type StoredList,
  type ActivityQuery,
  type OldestQuery,
  type UnsettledQuery,
  type Listed,
  type ByIdQuery,
  type FilesQuery,
} from '../list-query.decide.ts';
import { isSameRun, FINAL_STATUSES, type StoredView } from '../run-view.ts';
import type { ReadingViews } from '../run-views.ts';
import { orUnavailable } from './mongo-errors.ts';
import { scanList } from '../scan-list.ts';
import { decideSearch } from '../run-search.decide.ts';
import { viewOf, VIEW_FIELDS } from '../stored-run.decide.ts';
import { documentCounter, documentReader, idCounter, filterOf, sortKeyAt } from './read-lists.ts';
import {
  ENDED_INDEX,
  indexOf,
  OLDEST_FIRST,
  STATUS_INDEX,
  UNSETTLED_INDEX,
  DELETED_INDEX,
  ERASE_INDEX,
  FILES_INDEX,
  type RunDocument,
} from './run-documents.ts';
import { asSortKey, sortKeysIn } from '../sort-key.decide.ts';

interface ReadLimits {
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

const WHAT = 'reading the activity of runs';

/** Each of its reads may take so long. */
const activityReader = (runs: Collection<RunDocument>, readWithinMs: number): ActivityReader => {
  const reading = { maxTimeMS: readWithinMs };
  const group = (
    query: ActivityQuery,
    filter: Filter<RunDocument>,
    hint: Document,
  ): Promise<readonly ActivityGroup[]> =>
    orUnavailable(WHAT, readWithinMs, async () => {
      const place = {
        created: placeOf('$created_ms', query),
        started: placeOf('$started_ms', query),
        ended: placeOf('$ended_ms', query),
        status: '$status',
      };
      const stages = [{ $match: filter }, { $group: { _id: place, runs: { $sum: 1 } } }];
      const grouped = await runs
        .aggregate<{ readonly _id: Omit<ActivityGroup, 'runs'>; readonly runs: number }>(stages, {
          ...reading,
          hint,
        })
        .toArray();
      return grouped.map(({ _id, runs: count }) => ({ ..._id, runs: count }));
    });
  return {
    sortKeyAt: (part, count) =>
      orUnavailable(WHAT, readWithinMs, () => sortKeyAt(runs, part, count, reading)),
    endedAfter: ({ org_id }, from, count) =>
      orUnavailable(WHAT, readWithinMs, async () => {
        const [found] = await runs
          .find({ org_id, ended_ms: { $gte: from } }, { ...reading, hint: ENDED_INDEX.key })
          .sort({ ended_ms: 1 })
          .project<Pick<RunDocument, 'ended_ms'>>({ _id: 0, ended_ms: 1 })
          .skip(count)
          .limit(1)
          .toArray();
        return found?.ended_ms ?? undefined;
      }),
    groupEnded: (query, { from, before }) => {
      const ended_ms = { $gte: from, ...(before === undefined ? {} : { $lt: before }) };
      const created_ms = { $lt: query.to.getTime() };
      return group(query, { org_id: query.org_id, ended_ms, created_ms }, ENDED_INDEX.key);
    },
    groupPart: (query, part) => group(query, filterOf(part), indexOf('status')),
  };
};

/** Of the interval that a time is in. */
const placeOf = (field: `$${string}`, query: ActivityQuery): Document => {
  const [from, to] = [query.from.getTime(), query.to.getTime()];
  const isLaterOrNever = { $or: [{ $eq: [field, null] }, { $gte: [field, to] }] };
  const place = { $floor: { $divide: [{ $subtract: [field, from] }, query.stepMs] } };
  return { $cond: [isLaterOrNever, pointsOf(query), { $cond: [{ $lt: [field, from] }, -1, place] }] };
};

interface ReadOptions {
  readonly maxTimeMS: number;
}

/** The keys of runs with these statuses, the oldest first. */
const oldestRuns = (
  runs: Collection<RunDocument>,
  { org_id, statuses, ...query }: OldestQuery,
  options: ReadOptions,
): AsyncIterable<Listed<RunKey>> => {
  const matching = { status: { $in: [...statuses] }, ...createdIn(query) };
  const found =
    org_id === undefined
      ? runs.find(matching, { ...options, hint: STATUS_INDEX })
      : runs.find({ org_id, ...matching }, { ...options, hint: indexOf('status') });
  return keysOf(found, query.limit);
};

/** The keys of unsettled runs, the oldest first. */
const unsettledRuns = (
  runs: Collection<RunDocument>,
  query: UnsettledQuery,
  options: ReadOptions,
): AsyncIterable<Listed<RunKey>> => {
  const unsettled = { unsettled: 1, ...createdIn(query) };
  return keysOf(runs.find(unsettled, { ...options, hint: UNSETTLED_INDEX.key }), query.limit);
};

const createdIn = ({ createdBefore, after }: UnsettledQuery) => {
  const { from, before = '' } = sortKeysIn({ createdBefore });
  return { sort_key: { $gt: after ?? from, $lt: before } };
};

/** One more than the page has says that others follow. */
const keysOf = (found: FindCursor<WithId<RunDocument>>, limit: number): AsyncIterable<Listed<RunKey>> =>
  found
    .sort(OLDEST_FIRST)
    .limit(limit + 1)
    .project<Pick<RunDocument, '_id' | 'org_id' | 'sort_key'>>({ org_id: 1, sort_key: 1 })
    .map(({ _id, org_id, sort_key }) => ({
      item: { org_id: orgId(org_id), run_id: runId(_id) },
      sortKey: asSortKey(String(sort_key)),
      bytes: 0,
    }));

const VIEW_PROJECTION = Object.fromEntries(VIEW_FIELDS.map((field) => [field, 1]));

// Each query repeats the condition of its index, by which the server knows that the index has all that it asks for.

const viewsToErase = async (
  runs: Collection<RunDocument>,
  { after, limit }: ByIdQuery,
): Promise<StoredView[]> => {
  const found = runs.find({ to_erase: { $gt: 0 }, _id: { $gt: after } }, { hint: ERASE_INDEX.key });
  return (await found.sort({ _id: 1 }).limit(limit).toArray()).map(viewOf);
};

export const allViews = async (
  runs: Collection<RunDocument>,
  { after, limit }: ByIdQuery,
): Promise<StoredView[]> => {
  const found = runs.find({ _id: { $gt: after } }, { projection: VIEW_PROJECTION });
  return (await found.sort({ _id: 1 }).limit(limit).toArray()).map(viewOf);
};

const erasedViews = async (runs: Collection<RunDocument>, limit: number): Promise<StoredView[]> => {
  const found = runs.find({ status: 'deleted', to_erase: 0 }, { hint: DELETED_INDEX.key });
  return (await found.sort({ updated_at: 1 }).limit(limit).toArray()).map(viewOf);
};

const viewsWithFiles = async (
  runs: Collection<RunDocument>,
  { org_id, endedBefore, limit }: FilesQuery,
): Promise<StoredView[]> => {
  const ended = { status: { $in: [...FINAL_STATUSES] }, updated_at: { $lt: endedBefore.toISOString() } };
  const found = runs.find({ org_id, output_bytes: { $gt: 0 }, ...ended }, { hint: FILES_INDEX.key });
  return (await found.sort({ updated_at: 1 }).limit(limit).toArray()).map(viewOf);
};
