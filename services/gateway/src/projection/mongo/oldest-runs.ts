import type { Collection } from 'mongodb';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { OldestQuery } from '../core/list-query.ts';
import type { Listed } from '../core/page.ts';
import { asSortKey, sortKeysIn } from '../core/sort-key.ts';
import type { RunDocument } from './run-documents.ts';
import { indexOf, OLDEST_FIRST, STATUS_INDEX } from './run-indexes.ts';

/** The keys of runs with these statuses, the oldest first. */
export const oldestRuns = (
  runs: Collection<RunDocument>,
  { org_id, statuses, createdBefore, after, limit }: OldestQuery,
  options: { readonly maxTimeMS: number },
): AsyncIterable<Listed<RunKey>> => {
  const { from, before = '' } = sortKeysIn({ createdBefore });
  const matching = { status: { $in: [...statuses] }, sort_key: { $gt: after ?? from, $lt: before } };
  const found =
    org_id === undefined
      ? runs.find(matching, { ...options, hint: STATUS_INDEX })
      : runs.find({ org_id, ...matching }, { ...options, hint: indexOf('status') });
  return found
    .sort(OLDEST_FIRST)
    .limit(limit + 1)
    .project<Pick<RunDocument, '_id' | 'org_id' | 'sort_key'>>({ org_id: 1, sort_key: 1 })
    .map(({ _id, org_id, sort_key }) => ({
      item: { org_id: orgId(org_id), run_id: runId(_id) },
      sortKey: asSortKey(String(sort_key)),
      bytes: 0,
    }));
};
