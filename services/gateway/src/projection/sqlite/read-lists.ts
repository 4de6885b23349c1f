import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { DatabaseSync } from 'node:sqlite';
import type { CountReader } from '../core/counts/count-runs.ts';
import { MAX_PAGE_BYTES, type Listed } from '../core/page.ts';
import type { ListPart, ListReader } from '../core/scan-list.ts';
import { asSortKey } from '../core/sort-key.ts';
import type { StoredList } from '../core/stored-list.ts';
import type { StoredRun } from '../core/stored-run.ts';
import { branchesOf, type Statement } from './list-branches.ts';
import { orUnavailable } from './open-database.ts';

export const rowReader = <Item>(
  database: DatabaseSync,
  { what, fields, toItem }: StoredList<Item>,
  limit: number,
): ListReader<Item> => {
  const row = database.prepare(`SELECT ${fields.join(', ')} FROM run_views WHERE rowid = ?`);
  return {
    // At once: nothing changes between two rows.
    find: (part) =>
      orUnavailable(what, () => {
        const found: Listed<Item>[] = [];
        const { sql, values } = select(part, { limit, offset: 0 });
        let bytes = 0;
        for (const { rowid, sort_key } of database.prepare(sql).iterate(...values)) {
          const item = toItem(row.get(rowid ?? null) as unknown as StoredRun);
          found.push({ ...item, sortKey: asSortKey(String(sort_key)) });
          bytes += item.bytes;
          // The page is full, and there is one item more, which says so.
          if (bytes > MAX_PAGE_BYTES && found.length > 1) break;
        }
        return found;
      }),
    sortKeyAt: sortKeyReader(database, what),
  };
};

export const rowCounter = (database: DatabaseSync): CountReader => {
  const what = 'counting run views';
  return {
    sortKeyAt: sortKeyReader(database, what),
    countByStatus: async (part) =>
      orUnavailable(what, () => {
        const found = branchesOf(part, 'run_views.status');
        const rows = found.map(({ sql }) => `SELECT * FROM (${sql})`).join(' UNION ALL ');
        const counted = database.prepare(`SELECT status, count(*) AS runs FROM (${rows}) GROUP BY status`);
        return Object.fromEntries(
          counted
            .all(...found.flatMap(({ values }) => values))
            .map(({ status, runs }) => [String(status), Number(runs)]),
        );
      }),
  };
};

export const sortKeyReader =
  (database: DatabaseSync, what: string): ListReader<never>['sortKeyAt'] =>
  async (part, count) => {
    await yieldToOthers();
    return orUnavailable(what, () => {
      const { sql, values } = select(part, { limit: 1, offset: count - 1 });
      const last = database.prepare(sql).get(...values);
      return last && asSortKey(String(last['sort_key']));
    });
  };

/**
 * The rows of a part and their sort keys. It reads the index of the first condition, once for each of its values, and
 * merges: SQLite would sort all runs that have one of several values.
 */
const select = (
  part: ListPart,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Statement => {
  const branches = branchesOf(part, 'run_views.rowid, run_views.sort_key');
  const merged = branches
    .map(({ sql, newestFirst }) => `SELECT * FROM (${sql} ${newestFirst} LIMIT ?)`)
    .join(' UNION ALL ');
  return {
    sql: `${merged} ORDER BY sort_key DESC LIMIT ? OFFSET ?`,
    values: [...branches.flatMap(({ values }) => [...values, limit + offset]), limit, offset],
  };
};
