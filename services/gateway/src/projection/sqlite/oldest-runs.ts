import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { OldestQuery } from '../core/list-query.ts';
import { pageOf, type Listed } from '../core/page.ts';
import { asSortKey, sortKeysIn } from '../core/sort-key.ts';
import type { RunViews } from '../run-views.ts';
import { orUnavailable } from './open-database.ts';
import { indexOf, STATUS_INDEX, UNSETTLED_INDEX } from './schema.ts';

/** Reads the index once for each status, and merges. */
export const oldestRuns = (database: DatabaseSync): RunViews['listOldest'] => {
  const statements = new Map<string, StatementSync>();
  const select = (query: OldestQuery): StatementSync => {
    const sql = selectOf(query);
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return async (query) => {
    const { org_id, statuses, createdBefore, after, limit } = query;
    const { from, before } = sortKeysIn({ createdBefore });
    const owner = org_id === undefined ? [] : [org_id];
    const values = statuses.flatMap((status) => [...owner, status, after ?? from, before ?? '', limit + 1]);
    const rows = orUnavailable('listing the oldest runs', () => select(query).all(...values, limit + 1));
    return pageOf(rows.map(keyOf), limit);
  };
};

/** The oldest first, too. */
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
    return pageOf(rows.map(keyOf), limit);
  };
};

const keyOf = ({ org_id, run_id, sort_key }: Record<string, SQLOutputValue>): Listed<RunKey> => ({
  item: { org_id: orgId(String(org_id)), run_id: runId(String(run_id)) },
  sortKey: asSortKey(String(sort_key)),
  bytes: 0,
});

const selectOf = ({ org_id, statuses }: OldestQuery): string => {
  const [index, owner] = org_id === undefined ? [STATUS_INDEX, ''] : [indexOf('status'), 'org_id = ? AND '];
  const branch = `SELECT * FROM (
    SELECT org_id, run_id, sort_key FROM run_views INDEXED BY ${index}
    WHERE ${owner}status = ? AND sort_key > ? AND sort_key < ? ORDER BY sort_key LIMIT ?)`;
  return `${statuses.map(() => branch).join(' UNION ALL ')} ORDER BY sort_key LIMIT ?`;
};
