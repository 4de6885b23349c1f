import type { Collection, Document, Filter } from 'mongodb';
import { pointsOf, type ActivityGroup, type ActivityReader } from '../core/counts/run-activity.ts';
import type { ActivityQuery } from '../core/list-query.ts';
import { orUnavailable } from './mongo-errors.ts';
import { filterOf, sortKeyAt } from './read-lists.ts';
import type { RunDocument } from './run-documents.ts';
import { ENDED_INDEX, indexOf } from './run-indexes.ts';

const WHAT = 'reading the activity of runs';

/** Each of its reads may take so long. */
export const activityReader = (runs: Collection<RunDocument>, readWithinMs: number): ActivityReader => {
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
const placeOf = (field: `$${string}`, query: Pick<ActivityQuery, 'from' | 'to' | 'stepMs'>): Document => {
  const [from, to] = [query.from.getTime(), query.to.getTime()];
  const isLaterOrNever = { $or: [{ $eq: [field, null] }, { $gte: [field, to] }] };
  const place = { $floor: { $divide: [{ $subtract: [field, from] }, query.stepMs] } };
  return { $cond: [isLaterOrNever, pointsOf(query), { $cond: [{ $lt: [field, from] }, -1, place] }] };
};
