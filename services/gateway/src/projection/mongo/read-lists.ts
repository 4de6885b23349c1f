import type { Collection, Filter, FindCursor } from 'mongodb';
import type { FieldCondition } from '../core/list-query.ts';
import type { ListPart, ListReader } from '../core/scan-list.ts';
import { asSortKey } from '../core/sort-key.ts';
import type { StoredList } from '../core/stored-list.ts';
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
  const findBy = (part: ListPart, hint: FieldCondition | undefined): FindCursor<RunDocument> =>
    runs.find(filterOf(part), { maxTimeMS, ...(hint && { hint: indexOf(hint.field) }) }).sort(NEWEST_FIRST);
  return {
    find: (part) => {
      const [first, ...others] = part.conditions;
      // With several conditions a server may choose another index.
      const found = findBy(part, others.length > 0 ? first : undefined).limit(limit);
      return found.project<RunDocument>(projection).map((document) => ({
        ...toItem(storedRunOf(document)),
        sortKey: asSortKey(String(document.sort_key)),
      }));
    },
    // Read from the index alone.
    sortKeyAt: async (part, count) => {
      const keys = findBy(part, part.conditions[0]).project<Pick<RunDocument, 'sort_key'>>({
        _id: 0,
        sort_key: 1,
      });
      const [last] = await keys
        .skip(count - 1)
        .limit(1)
        .toArray();
      return last && asSortKey(String(last.sort_key));
    },
  };
};

/** The documents of a part of the list. It is one range of an index. */
const filterOf = ({
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
