import type { Collection } from 'mongodb';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { UnsettledQuery } from '../core/list-query.ts';
import type { Listed } from '../core/page.ts';
import { asSortKey, sortKeysIn } from '../core/sort-key.ts';
import type { RunDocument } from './run-documents.ts';
import { UNSETTLED_INDEX } from './run-indexes.ts';

/** The keys of unsettled runs, the oldest first. */
export const unsettledRuns = (
  runs: Collection<RunDocument>,
  { createdBefore, after, limit }: UnsettledQuery,
  options: { readonly maxTimeMS: number },
): AsyncIterable<Listed<RunKey>> => {
  const { from, before = '' } = sortKeysIn({ createdBefore });
  const unsettled = { unsettled: 1, sort_key: { $gt: after ?? from, $lt: before } };
  return runs
    .find(unsettled, { ...options, hint: UNSETTLED_INDEX.key })
    .sort({ sort_key: 1 })
    .limit(limit + 1)
    .project<Pick<RunDocument, '_id' | 'org_id' | 'sort_key'>>({ org_id: 1, sort_key: 1 })
    .map(({ _id, org_id, sort_key }) => ({
      item: { org_id: orgId(org_id), run_id: runId(_id) },
      sortKey: asSortKey(String(sort_key)),
      bytes: 0,
    }));
};
