import type { DatabaseSync } from 'node:sqlite';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { pageOf, type Listed } from '../core/page.ts';
import { asSortKey, sortKeysIn } from '../core/sort-key.ts';
import type { RunViews } from '../run-views.ts';
import { orUnavailable } from './open-database.ts';
import { UNSETTLED_INDEX } from './schema.ts';

export const unsettledRuns = (database: DatabaseSync): RunViews['listUnsettled'] => {
  const select = database.prepare(
    `SELECT org_id, run_id, sort_key FROM run_views INDEXED BY ${UNSETTLED_INDEX}
     WHERE unsettled > 0 AND sort_key > ? AND sort_key < ? ORDER BY sort_key LIMIT ?`,
  );
  return async ({ createdBefore, after, limit }) => {
    const { from, before } = sortKeysIn({ createdBefore });
    const rows = orUnavailable('listing unsettled runs', () =>
      select.all(after ?? from, before ?? '', limit + 1),
    );
    return pageOf(
      rows.map(({ org_id, run_id, sort_key }): Listed<RunKey> => ({
        item: { org_id: orgId(String(org_id)), run_id: runId(String(run_id)) },
        sortKey: asSortKey(String(sort_key)),
        bytes: 0,
      })),
      limit,
    );
  };
};
