import type { Collection, Filter, FindCursor } from 'mongodb';
import type { CountReader } from '../core/counts/count-runs.ts';
import type { FieldCondition } from '../core/list-query.ts';
import type { ListPart, ListReader } from '../core/scan-list.ts';
import { asSortKey, type SortKey } from '../core/sort-key.ts';
import type { StoredList } from '../core/stored-list.ts';
import { orUnavailable } from './mongo-errors.ts';
import { storedRunOf, type RunDocument } from './run-documents.ts';
import { indexOf, NEWEST_FIRST } from './run-indexes.ts';

interface FindLimits {
  readonly limit: number;
  /** For each response of the server. */
  readonly maxTimeMS: number;
}

export const documentReader = <Item>(
  runs: Collection<RunDocument>,
  { fields, toItem }: StoredList<Item>,
  { limit, maxTimeMS }: FindLimits,
): ListReader<Item> => {
  // `_id` is always given.
  const projection = Object.fromEntries([...fields, 'created_at', 'sort_key'].map((field) => [field, 1]));
  return {
    find: (part) => {
      const [first, ...others] = part.conditions;
      // With several conditions a server may choose another index.
      const found = findBy(runs, part, others.length > 0 ? first : undefined, { maxTimeMS }).limit(limit);
      return found.project<RunDocument>(projection).map((document) => ({
        ...toItem(storedRunOf(document)),
        sortKey: asSortKey(String(document.sort_key)),
      }));
    },
    sortKeyAt: (part, count) => sortKeyAt(runs, part, count, { maxTimeMS }),
  };
};

/** Each of its reads may take so long. */
export const documentCounter = (runs: Collection<RunDocument>, readWithinMs: number): CountReader => {
  const what = 'counting run views';
  const reading = { maxTimeMS: readWithinMs };
  return {
    sortKeyAt: (part, count) =>
      orUnavailable(what, readWithinMs, () => sortKeyAt(runs, part, count, reading)),
    countByStatus: (part) =>
      orUnavailable(what, readWithinMs, async () => {
        const [first] = part.conditions;
        const stages = [{ $match: filterOf(part) }, { $group: { _id: '$status', runs: { $sum: 1 } } }];
        const counted = await runs
          .aggregate<{ readonly _id: string; readonly runs: number }>(stages, {
            ...reading,
            ...(first && { hint: indexOf(first.field) }),
          })
          .toArray();
        return Object.fromEntries(counted.map(({ _id, runs: count }) => [_id, count]));
      }),
  };
};

/** Read from the index alone. */
export const sortKeyAt = async (
  runs: Collection<RunDocument>,
  part: ListPart,
  count: number,
  reading: { readonly maxTimeMS: number },
): Promise<SortKey | undefined> => {
  const keys = findBy(runs, part, part.conditions[0], reading).project<Pick<RunDocument, 'sort_key'>>({
    _id: 0,
    sort_key: 1,
  });
  const [last] = await keys
    .skip(count - 1)
    .limit(1)
    .toArray();
  return last && asSortKey(String(last.sort_key));
};

const findBy = (
  runs: Collection<RunDocument>,
  part: ListPart,
  hint: FieldCondition | undefined,
  reading: { readonly maxTimeMS: number },
): FindCursor<RunDocument> =>
  runs.find(filterOf(part), { ...reading, ...(hint && { hint: indexOf(hint.field) }) }).sort(NEWEST_FIRST);

/** The documents of a part of the list. It is one range of an index. */
export const filterOf = ({
  org_id,
  conditions: [first, ...others],
  range: { from, before },
}: ListPart): Filter<RunDocument> => ({
  org_id,
  ...(first && matching(first)),
  // Several may be of one field.
  ...(others.length > 0 && { $and: others.map(matching) }),
  sort_key: { $gte: from, ...(before === undefined ? {} : { $lt: before }) },
});

const matching = ({ field, values }: FieldCondition): Filter<RunDocument> => ({ [field]: anyOf(values) });

/** One value becomes an equality, for which every server uses its index. */
const anyOf = (values: FieldCondition['values']): string | { $in: string[] } => {
  const [only, ...others] = values;
  return only !== undefined && others.length === 0 ? only : { $in: [...values] };
};
