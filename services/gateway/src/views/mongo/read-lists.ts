import type { Collection, Filter, FindCursor } from 'mongodb';
import type { CountReader } from '../counts.decide.ts';
import type { FieldCondition, StoredList } from '../list-query.decide.ts';
import type { CountIds, Sought } from '../run-search.decide.ts';
import type { ListPart, ListReader } from '../scan-list.ts';
import { asSortKey, type SortKey } from '../sort-key.decide.ts';
import { orUnavailable } from './mongo-errors.ts';
import {
  storedRunOf,
  ID_INDEX,
  indexOf,
  LIST_INDEX,
  NEWEST_FIRST,
  type RunDocument,
} from './run-documents.ts';

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
      // With one condition a server has no other index to choose.
      const isOne = part.conditions.length <= 1 && part.sought === undefined;
      const found = findBy(runs, part, isOne ? undefined : hintOf(part), { maxTimeMS }).limit(limit);
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
        const hint = hintOf(part);
        const stages = [{ $match: filterOf(part) }, { $group: { _id: '$status', runs: { $sum: 1 } } }];
        const counted = await runs
          .aggregate<{ readonly _id: string; readonly runs: number }>(stages, {
            ...reading,
            ...(hint && { hint }),
          })
          .toArray();
        return Object.fromEntries(counted.map(({ _id, runs: count }) => [_id, count]));
      }),
  };
};

export const idCounter =
  (runs: Collection<RunDocument>, maxTimeMS: number): CountIds =>
  (org_id, { from, before }, atMost) =>
    orUnavailable('counting runs by their ids', maxTimeMS, () => {
      const filter = { org_id, _id: { $gte: from, $lt: before }, sort_key: { $gt: '' } };
      return runs.countDocuments(filter, { maxTimeMS, limit: atMost, hint: ID_INDEX });
    });

/** Read from the index alone. */
export const sortKeyAt = async (
  runs: Collection<RunDocument>,
  part: ListPart,
  count: number,
  reading: { readonly maxTimeMS: number },
): Promise<SortKey | undefined> => {
  const keys = findBy(runs, part, hintOf(part), reading).project<Pick<RunDocument, 'sort_key'>>({
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
  hint: ReturnType<typeof hintOf>,
  reading: { readonly maxTimeMS: number },
): FindCursor<RunDocument> =>
  runs.find(filterOf(part), { ...reading, ...(hint && { hint }) }).sort(NEWEST_FIRST);

/** The index by which a part is read. With several conditions a server may choose another one. */
const hintOf = ({
  conditions: [first],
  sought,
}: ListPart): { readonly [name: string]: 1 | -1 } | undefined => {
  if (sought?.kind === 'ids') return ID_INDEX;
  if (first) return indexOf(first.field);
  return sought ? LIST_INDEX : undefined;
};

/** The documents of a part of the list. It is one range of an index. */
export const filterOf = ({
  org_id,
  conditions: [first, ...others],
  sought,
  range: { from, before },
}: ListPart): Filter<RunDocument> => ({
  org_id,
  ...(first && matching(first)),
  // Several may be of one field.
  ...(others.length > 0 && { $and: others.map(matching) }),
  ...(sought && found(sought)),
  sort_key: { $gte: from, ...(before === undefined ? {} : { $lt: before }) },
});

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

const matching = ({ field, values }: FieldCondition): Filter<RunDocument> => ({ [field]: anyOf(values) });

/** One value becomes an equality, for which every server uses its index. */
const anyOf = (values: FieldCondition['values']): string | { $in: string[] } => {
  const [only, ...others] = values;
  return only !== undefined && others.length === 0 ? only : { $in: [...values] };
};
