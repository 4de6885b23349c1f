import type { Collection, FindCursor, WithId } from 'mongodb';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { OldestQuery, UnsettledQuery } from '../core/list-query.ts';
import type { Listed } from '../core/page.ts';
import { asSortKey, sortKeysIn } from '../core/sort-key.ts';
import type { RunDocument } from './run-documents.ts';
import { indexOf, OLDEST_FIRST, STATUS_INDEX, UNSETTLED_INDEX } from './run-indexes.ts';

interface ReadOptions {
  readonly maxTimeMS: number;
}

/** The keys of runs with these statuses, the oldest first. */
export const oldestRuns = (
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
export const unsettledRuns = (
  runs: Collection<RunDocument>,
  query: UnsettledQuery,
  options: ReadOptions,
): AsyncIterable<Listed<RunKey>> => {
  const unsettled = { unsettled: 1, ...createdIn(query) };
  return keysOf(runs.find(unsettled, { ...options, hint: UNSETTLED_INDEX.key }), query.limit);
};

const createdIn = ({ createdBefore, after }: Pick<UnsettledQuery, 'createdBefore' | 'after'>) => {
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
