import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { type CountReader, pointsOf, type ActivityGroup, type ActivityReader } from '../counts.decide.ts';
import {
  MAX_PAGE_BYTES,
  type Listed,
  type StoredList,
  type FieldCondition,
  type FilterField,
  type ActivityQuery,
} from '../list-query.decide.ts';
import type { ListPart, ListReader } from '../scan-list.ts';
import { asSortKey } from '../sort-key.decide.ts';
import type { StoredRun } from '../stored-run.decide.ts';
import { orUnavailable, ID_INDEX, indexOf, ENDED_INDEX } from './database.ts';
import type { CountIds, IdRange, RunSearch, Sought } from '../run-search.decide.ts';

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

const sortKeyReader =
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

interface Statement {
  readonly sql: string;
  readonly values: SQLInputValue[];
}

interface Branch extends Statement {
  /** Its order. An index has it, but that of ids. */
  readonly newestFirst: string;
}

/** One for each value of the first condition, whose index it reads. */
const branchesOf = (part: ListPart, columns: string): Branch[] => {
  const [first] = part.conditions;
  if (!first || part.sought?.kind === 'ids') return [branch(part, columns, part.conditions)];
  const others = part.conditions.slice(1);
  return first.values.map((value) => branch(part, columns, others, { field: first.field, value }));
};

const branch = (
  { org_id, sought, range: { from, before } }: ListPart,
  columns: string,
  others: readonly FieldCondition[],
  first?: { readonly field: FilterField; readonly value: string },
): Branch => {
  const source = sourceOf(first?.field, sought);
  const clauses: readonly Statement[] = [
    { sql: `${source.table}.org_id = ?`, values: [org_id] },
    ...(first ? [{ sql: `${source.column} = ?`, values: [first.value] }] : []),
    ...(sought ? [isSought(sought, source.table)] : []),
    ...others.map(otherCondition),
    { sql: `${source.table}.sort_key >= ?`, values: [from] },
    ...(before === undefined ? [] : [{ sql: `${source.table}.sort_key < ?`, values: [before] }]),
  ];
  const where = clauses.map(({ sql }) => sql).join(' AND ');
  return {
    sql: `SELECT ${columns} FROM ${source.rows} WHERE ${where}`,
    newestFirst: `ORDER BY ${source.table}.sort_key DESC`,
    values: clauses.flatMap(({ values }) => values),
  };
};

/** Where the index is that a branch reads. */
interface Source {
  readonly table: string;
  readonly column: string;
  readonly rows: string;
}

const sourceOf = (field: FilterField | undefined, sought: ListPart['sought']): Source => {
  if (sought?.kind === 'ids') return viewsBy(ID_INDEX, 'run_id');
  // A cross join keeps this order.
  if (field === 'tags')
    return {
      table: 'run_tags',
      column: 'run_tags.tag',
      rows: 'run_tags CROSS JOIN run_views ON run_views.run_id = run_tags.run_id',
    };
  if (field === undefined && sought?.kind === 'text')
    return {
      table: 'run_texts',
      column: 'run_texts.text',
      rows: `run_texts CROSS JOIN run_views INDEXED BY ${indexOf('sort_key')}
        ON run_views.org_id = run_texts.org_id AND run_views.sort_key = run_texts.sort_key`,
    };
  return viewsBy(indexOf(field ?? 'sort_key'), field ?? 'sort_key');
};

const viewsBy = (index: string, column: string): Source => ({
  table: 'run_views',
  column: `run_views.${column}`,
  rows: `run_views INDEXED BY ${index}`,
});

const isSought = (sought: Sought, table: string): Statement =>
  sought.kind === 'text' ? hasText(sought, table) : hasId(sought);

const hasId = ({ from, before }: IdRange): Statement => ({
  sql: 'run_views.run_id >= ? AND run_views.run_id < ?',
  values: [from, before],
});

/** Both texts are folded, so their characters are compared as they are. */
const hasText = ({ text, deploymentIds }: RunSearch, table: string): Statement => {
  const values = [text, ...deploymentIds];
  const found = `(instr(run_texts.text, ?) > 0 OR run_texts.deployment_id ${oneOf(deploymentIds)})`;
  if (table === 'run_texts') return { sql: found, values };
  return {
    sql: `EXISTS (SELECT 1 FROM run_texts WHERE run_texts.org_id = ${table}.org_id
           AND run_texts.sort_key = ${table}.sort_key AND ${found})`,
    values,
  };
};

const otherCondition = ({ field, values }: FieldCondition): Statement => {
  const sql =
    field === 'tags'
      ? `EXISTS (SELECT 1 FROM run_tags AS other WHERE other.org_id = run_views.org_id AND other.tag ${oneOf(values)}
           AND other.sort_key = run_views.sort_key)`
      : `run_views.${field} ${oneOf(values)}`;
  return { sql, values: [...values] };
};

const oneOf = (values: readonly string[]): string => `IN (${values.map(() => '?').join(', ')})`;

export const idCounter = (database: DatabaseSync): CountIds => {
  const counted = database.prepare(
    `SELECT count(*) AS ids FROM (SELECT 1 FROM run_views INDEXED BY ${ID_INDEX}
       WHERE org_id = ? AND run_id >= ? AND run_id < ? AND sort_key IS NOT NULL LIMIT ?)`,
  );
  return async (org_id, { from, before }, atMost) =>
    orUnavailable('counting runs by their ids', () =>
      Number(counted.get(org_id, from, before, atMost)?.['ids']),
    );
};

const WHAT = 'reading the activity of runs';
const COLUMNS = 'created_ms, started_ms, ended_ms, status';

export const activityReader = (database: DatabaseSync): ActivityReader => {
  const ended = database.prepare(
    `SELECT ended_ms FROM run_views INDEXED BY ${ENDED_INDEX} WHERE org_id = ? AND ended_ms >= ?
     ORDER BY ended_ms LIMIT 1 OFFSET ?`,
  );
  const group = (query: ActivityQuery, rows: Statement): readonly ActivityGroup[] =>
    orUnavailable(WHAT, () =>
      database
        .prepare(
          `SELECT ${placeOf('created_ms', query)} AS created, ${placeOf('started_ms', query)} AS started,
             ${placeOf('ended_ms', query)} AS ended, status, count(*) AS runs FROM (${rows.sql}) GROUP BY 1, 2, 3, 4`,
        )
        .all(...rows.values)
        .map(({ created, started, ended: end, status, runs }) => ({
          created: Number(created),
          started: Number(started),
          ended: Number(end),
          status: String(status),
          runs: Number(runs),
        })),
    );
  return {
    sortKeyAt: sortKeyReader(database, WHAT),
    endedAfter: async ({ org_id }, from, count) => {
      await yieldToOthers();
      return orUnavailable(WHAT, () => {
        const found = ended.get(org_id, from, count);
        return found && Number(found['ended_ms']);
      });
    },
    groupEnded: async (query, { from, before = Number.MAX_SAFE_INTEGER }) =>
      group(query, {
        sql: `SELECT ${COLUMNS} FROM run_views INDEXED BY ${ENDED_INDEX}
              WHERE org_id = ? AND ended_ms >= ? AND ended_ms < ? AND created_ms < ?`,
        values: [query.org_id, from, before, query.to.getTime()],
      }),
    groupPart: async (query, part) => {
      const branches = branchesOf(part, COLUMNS);
      return group(query, {
        sql: branches.map(({ sql }) => sql).join(' UNION ALL '),
        values: branches.flatMap(({ values }) => values),
      });
    },
  };
};

/** Of the interval that a time is in. */
const placeOf = (column: keyof StoredRun & `${string}_ms`, query: ActivityQuery): string => {
  const [from, to] = [query.from.getTime(), query.to.getTime()];
  return `CASE WHEN ${column} IS NULL OR ${column} >= ${to} THEN ${pointsOf(query)}
     WHEN ${column} < ${from} THEN -1 ELSE (${column} - ${from}) / ${query.stepMs} END`;
};
