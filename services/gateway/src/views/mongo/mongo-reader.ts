import type { Collection, Document, Filter, FindOptions } from 'mongodb';
import { pointsOf, type ActivityGroup } from '../counts.decide.ts';
import type { ActivityQuery, FieldCondition } from '../list-query.decide.ts';
import type { Sought } from '../run-search.decide.ts';
import type { ListPart } from '../scan-list.ts';
import { asSortKey } from '../sort-key.decide.ts';
import { INDEXES, indexOf, type IndexName, type ViewReader } from '../stored-queries.decide.ts';
import { limited, type MongoLimits } from './mongo-server.ts';
import { documentNames, storedRunOf, type RunDocument } from './run-documents.ts';

/** What MongoDB does for lists, counts and sums. */
export const mongoReader = (
  runs: Collection<RunDocument>,
  { readWithinMs, writeWithinMs }: MongoLimits,
): ViewReader => {
  const reading = { maxTimeMS: readWithinMs };
  const inTime = <Result>(work: () => Promise<Result>): Promise<Result> => limited(readWithinMs, work);
  const grouped = <Group extends Document>(
    filter: Filter<RunDocument>,
    _id: unknown,
    by?: IndexName,
  ): Promise<Group[]> =>
    inTime(() => {
      const stages = [{ $match: filter }, { $group: { _id, runs: { $sum: 1 } } }];
      return runs.aggregate<Group>(stages, { ...reading, ...hint(by) }).toArray();
    });
  const findPart = (part: ListPart, options: FindOptions) =>
    runs.find(filterOf(part), { ...reading, ...options }).sort({ sort_key: part.isOldestFirst ? 1 : -1 });
  return {
    limited: inTime,
    find: (part, { fields, toItem }, limit) => {
      // With one condition a server has no other index to choose.
      const isOne = part.conditions.length <= 1 && part.sought === undefined && !part.isOldestFirst;
      return findPart(part, isOne ? {} : hint(indexOf(part)))
        .limit(limit)
        .project<RunDocument>(projectionOf([...fields, 'sort_key']))
        .map((document) => ({
          ...toItem(storedRunOf(document)),
          sortKey: asSortKey(String(document.sort_key)),
        }));
    },
    // Read from the index alone.
    sortKeyAt: (part, count) =>
      inTime(async () => {
        const keys = findPart(part, hint(indexOf(part))).project({ _id: 0, sort_key: 1 });
        const [last] = await keys
          .skip(count - 1)
          .limit(1)
          .toArray();
        return last && asSortKey(String(last['sort_key']));
      }),
    countByStatus: async (part) => {
      const counted = await grouped<CountOf<string>>(filterOf(part), '$status', indexOf(part));
      return Object.fromEntries(counted.map(({ _id, runs: count }) => [_id, count]));
    },
    rows: ({ index, where, fields, order, skip = 0, limit, isPatient }) => {
      const withinMs = isPatient ? writeWithinMs : readWithinMs;
      return limited(withinMs, () =>
        runs
          .find(documentNames(where) as Filter<RunDocument>, { maxTimeMS: withinMs, ...hint(index) })
          .sort(documentNames({ [order]: 1 }))
          .project<RunDocument>(projectionOf(fields))
          .skip(skip)
          .limit(limit)
          .map(storedRunOf)
          .toArray(),
      );
    },
    count: ({ index, where }, atMost) =>
      inTime(() =>
        runs.countDocuments(documentNames(where) as Filter<RunDocument>, {
          ...reading,
          ...hint(index),
          limit: atMost,
        }),
      ),
    group: async ({ index, where }, by) => {
      const [created, started, ended] = MOMENTS.map((moment) => placeOf(`$${moment}_ms`, by));
      const place = { created, started, ended, status: '$status' };
      const found = await grouped<CountOf<PlaceOf<ActivityGroup>>>(
        where as Filter<RunDocument>,
        place,
        index,
      );
      return found.map(({ _id, runs: count }) => ({ ..._id, runs: count }));
    },
    sumOutputBytes: (org_id, sinceDay) =>
      inTime(async () => {
        const stages = [
          { $match: { org_id, updated_at: { $gte: sinceDay }, output_bytes: { $gt: 0 } } },
          { $group: { _id: null, bytes: { $sum: '$output_bytes' } } },
        ];
        const [sum] = await runs.aggregate<{ readonly bytes: number }>(stages, reading).toArray();
        return sum?.bytes ?? 0;
      }),
  };
};

interface CountOf<Id> extends Document {
  readonly _id: Id;
  readonly runs: number;
}

type PlaceOf<Group> = Omit<Group, 'runs'>;

const hint = (index: IndexName | undefined): { readonly hint?: Document } =>
  index === undefined ? {} : { hint: documentNames(INDEXES[index].key) };

/** `_id` is always given. */
const projectionOf = (fields: readonly string[]): Document =>
  Object.fromEntries(fields.map((field) => [field, 1]));

/** The documents of a part of the list. It is one range of an index. */
const filterOf = ({
  org_id,
  conditions: [first, ...others],
  sought,
  range: { from, before },
}: ListPart): Filter<RunDocument> => ({
  ...(org_id !== undefined && { org_id }),
  ...(first && matching(first)),
  // Several may be of one field.
  ...(others.length > 0 && { $and: others.map(matching) }),
  ...(sought && found(sought)),
  sort_key: { $gte: from, ...(before === undefined ? {} : { $lt: before }) },
});

/** One value becomes an equality, for which every server uses its index. */
const matching = ({ field, values }: FieldCondition): Filter<RunDocument> => {
  const [only, ...others] = values;
  return { [field]: only !== undefined && others.length === 0 ? only : { $in: [...values] } };
};

/** What means something else in an expression. */
const SPECIAL = /[\\^$.*+?()[\]{}|]/g;

const found = (sought: Sought): Filter<RunDocument> => {
  if (sought.kind !== 'text') return { _id: { $gte: sought.from, $lt: sought.before } };
  // Both texts are folded, so their characters are compared as they are.
  const hasText = { search_text: { $regex: sought.text.replaceAll(SPECIAL, String.raw`\$&`) } };
  const { deploymentIds } = sought;
  if (deploymentIds.length === 0) return hasText;
  return { $or: [hasText, { deployment_id: { $in: [...deploymentIds] } }] };
};

const MOMENTS = ['created', 'started', 'ended'] as const;

/** Of the interval that a time is in. */
const placeOf = (field: `$${string}`, query: ActivityQuery): Document => {
  const [from, to] = [query.from.getTime(), query.to.getTime()];
  const isLaterOrNever = { $or: [{ $eq: [field, null] }, { $gte: [field, to] }] };
  const place = { $floor: { $divide: [{ $subtract: [field, from] }, query.stepMs] } };
  return { $cond: [isLaterOrNever, pointsOf(query), { $cond: [{ $lt: [field, from] }, -1, place] }] };
};
