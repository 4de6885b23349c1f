import type { DatabaseSync } from 'node:sqlite';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { pageOf, type Listed } from '../core/page.ts';
import { OPEN_STATUSES } from '../core/run-view.ts';
import { asSortKey, sortKeysIn } from '../core/sort-key.ts';
import type { RunViews } from '../run-views.ts';
import { orUnavailable } from './open-database.ts';
import { OPEN_INDEX } from './schema.ts';

/** Reads the index once for each status, and merges. */
export const openRuns = (database: DatabaseSync): RunViews['listOpen'] => {
  const branch = `SELECT * FROM (
    SELECT org_id, run_id, sort_key FROM run_views INDEXED BY ${OPEN_INDEX}
    WHERE status = ? AND sort_key > ? AND sort_key < ? ORDER BY sort_key LIMIT ?)`;
  const select = database.prepare(
    `${OPEN_STATUSES.map(() => branch).join(' UNION ALL ')} ORDER BY sort_key LIMIT ?`,
  );
  return async ({ createdBefore, after, limit }) => {
    const { from, before } = sortKeysIn({ createdBefore });
    const values = OPEN_STATUSES.flatMap((status) => [status, after ?? from, before ?? '', limit + 1]);
    const rows = orUnavailable('listing runs that have not ended', () => select.all(...values, limit + 1));
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
