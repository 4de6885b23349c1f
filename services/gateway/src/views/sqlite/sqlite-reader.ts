import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { pointsOf } from '../counts.decide.ts';
import {
  MAX_PAGE_BYTES,
  type ActivityQuery,
  type FieldCondition,
  type Listed,
} from '../list-query.decide.ts';
import type { Sought } from '../run-search.decide.ts';
import type { ListPart } from '../scan-list.ts';
import { asSortKey } from '../sort-key.decide.ts';
import type { StoredRun } from '../stored-run.decide.ts';
import {
  indexOf,
  type IndexName,
  type StoredQuery,
  type Where,
  type ViewReader,
} from '../stored-queries.decide.ts';
import { conditionOf } from './database.ts';

/** What SQLite does for lists, counts and sums. A page is read at once; others go on between the pieces of a search. */
export const sqliteReader = (database: DatabaseSync): ViewReader => {
  const all = <Row>({ sql, values }: Statement): Row[] => database.prepare(sql).all(...values) as Row[];
  return {
    limited: (work) => work(),
    find: (part, { fields, toItem }, limit) => {
      // The folds may be large: they are read of those that are on the page.
      const isLarge = fields.some((field) => field === 'run' || field === 'webhook');
      const row = database.prepare(`SELECT ${fields.join(', ')} FROM run_views WHERE rowid = ?`);
      const { sql, values } = select(part, isLarge ? ['rowid'] : fields, { limit, offset: 0 });
      const found: Listed<ReturnType<typeof toItem>['item']>[] = [];
      let bytes = 0;
      const listed = database.prepare(sql);
      for (const next of isLarge ? listed.iterate(...values) : listed.all(...values)) {
        const item = toItem((isLarge ? row.get(next['rowid'] ?? null) : next) as unknown as StoredRun);
        found.push({ ...item, sortKey: asSortKey(String(next['sort_key'])) });
        bytes += item.bytes;
        // The page is full, and there is one item more, which says so.
        if (bytes > MAX_PAGE_BYTES && found.length > 1) break;
      }
      return found;
    },
    sortKeyAt: async (part, count) => {
      await yieldToOthers();
      const [last] = all<{ readonly sort_key: string }>(select(part, [], { limit: 1, offset: count - 1 }));
      return last && asSortKey(last.sort_key);
    },
    countByStatus: async (part) => {
      const { sql, values } = joined(branchesOf(part, 'run_views.status'), ' UNION ALL ');
      const counted = all<{ readonly status: string; readonly runs: number }>({
        sql: `SELECT status, count(*) AS runs FROM (${sql}) GROUP BY status`,
        values,
      });
      return Object.fromEntries(counted.map(({ status, runs }) => [status, runs]));
    },
    rows: async ({ fields, order, skip = 0, limit, ...query }) => {
      if (skip > 0) await yieldToOthers();
      const { sql, values } = from(query);
      return all({
        sql: `SELECT ${fields.join(', ')} ${sql} ORDER BY ${order} LIMIT ? OFFSET ?`,
        values: [...values, limit, skip],
      });
    },
    count: async (query, atMost) => {
      const { sql, values } = from(query);
      const counted = {
        sql: `SELECT count(*) AS runs FROM (SELECT 1 ${sql} LIMIT ?)`,
        values: [...values, atMost],
      };
      return all<{ readonly runs: number }>(counted)[0]?.runs ?? 0;
    },
    group: async (runs, by) => {
      const { sql, values } = from(runs);
      const [created, started, ended] = MOMENTS.map((moment) => placeOf(`${moment}_ms`, by));
      return all({
        sql: `SELECT ${created} AS created, ${started} AS started, ${ended} AS ended, status, count(*) AS runs
              ${sql} GROUP BY 1, 2, 3, 4`,
        values,
      });
    },
    sumOutputBytes: async (orgId, sinceDay) => {
      const sql = 'SELECT total(bytes) AS bytes FROM output_bytes WHERE org_id = ? AND day >= ?';
      return all<{ readonly bytes: number }>({ sql, values: [orgId, sinceDay] })[0]?.bytes ?? 0;
    },
  };
};

interface Statement {
  readonly sql: string;
  readonly values: SQLInputValue[];
}

const joined = (parts: readonly Statement[], by: string): Statement => ({
  sql: parts.map(({ sql }) => sql).join(by),
  values: parts.flatMap(({ values }) => values),
});

/** The condition of the index, word for word. */
const onlyThose = (index: IndexName): Statement[] => {
  const sql = conditionOf(index);
  return sql === undefined ? [] : [{ sql, values: [] }];
};

const OPERATORS = { $gt: '>', $gte: '>=', $lt: '<' } as const;

/** The runs of a query, by its index. */
const from = ({ index, where }: StoredQuery): Statement => {
  const { sql, values } = joined([...(index ? onlyThose(index) : []), ...clausesOf(where)], ' AND ');
  return { sql: `FROM run_views ${index ? by(index) : ''} WHERE ${sql}`, values };
};

const by = (index: IndexName): string => `INDEXED BY run_views_${index}`;

const clausesOf = (where: Where): Statement[] =>
  Object.entries(where).flatMap(([field, is]) => {
    if (typeof is !== 'object') return [{ sql: `${field} = ?`, values: [is] }];
    const { $in, ...bounds } = is;
    return [
      ...($in ? [isOneOf(field, $in)] : []),
      ...Object.entries(OPERATORS).flatMap(([name, operator]) => {
        const bound = bounds[name as keyof typeof OPERATORS];
        return bound === undefined ? [] : [{ sql: `${field} ${operator} ?`, values: [bound] }];
      }),
    ];
  });

const isOneOf = (field: string, values: readonly SQLInputValue[]): Statement => ({
  sql: `${field} IN (${values.map(() => '?').join(', ')})`,
  values: [...values],
});

/**
 * Some columns of a part's rows, and their sort keys. It reads the index of the first condition, once for each of its values, and
 * merges: SQLite would sort all runs that have one of several values.
 */
const select = (
  part: ListPart,
  columns: readonly string[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Statement => {
  const all = [...columns, 'sort_key'].map((column) => `run_views.${column}`).join(', ');
  const way = part.isOldestFirst ? 'ASC' : 'DESC';
  const branches = branchesOf(part, all).map(({ sql, table, values }) => ({
    sql: `SELECT * FROM (${sql} ORDER BY ${table}.sort_key ${way} LIMIT ?)`,
    values: [...values, limit + offset],
  }));
  const { sql, values } = joined(branches, ' UNION ALL ');
  return { sql: `${sql} ORDER BY sort_key ${way} LIMIT ? OFFSET ?`, values: [...values, limit, offset] };
};

interface Branch extends Statement {
  /** Its sort keys are in the order of an index, but those of ids. */
  readonly table: string;
}

/** One for each value of the first condition, whose index it reads. */
const branchesOf = (part: ListPart, columns: string): Branch[] => {
  const [first, ...others] = part.conditions;
  if (!first || part.sought?.kind === 'ids') return [branch(part, columns, part.conditions)];
  return first.values.map((value) => branch(part, columns, others, value));
};

const branch = (
  part: ListPart,
  columns: string,
  others: readonly FieldCondition[],
  first?: string | number,
): Branch => {
  const { org_id, sought, range } = part;
  const { table, column, rows } = sourceOf(part);
  const clauses: readonly Statement[] = [
    ...onlyThose(indexOf(part)),
    ...(org_id === undefined ? [] : [{ sql: `${table}.org_id = ?`, values: [org_id] }]),
    ...(first === undefined ? [] : [{ sql: `${column} = ?`, values: [first] }]),
    ...(sought ? [isSought(sought, table)] : []),
    ...others.map(otherCondition),
    { sql: `${table}.sort_key >= ?`, values: [range.from] },
    ...(range.before === undefined ? [] : [{ sql: `${table}.sort_key < ?`, values: [range.before] }]),
  ];
  const { sql, values } = joined(clauses, ' AND ');
  return { sql: `SELECT ${columns} FROM ${rows} WHERE ${sql}`, table, values };
};

/** Where the index is that a branch reads. */
interface Source {
  readonly table: string;
  readonly column: string;
  readonly rows: string;
}

const sourceOf = (part: ListPart): Source => {
  const field = part.conditions[0]?.field;
  const index = indexOf(part);
  // A cross join keeps this order.
  if (index === 'by_tags')
    return {
      table: 'run_tags',
      column: 'run_tags.tag',
      rows: 'run_tags CROSS JOIN run_views ON run_views.run_id = run_tags.run_id',
    };
  if (index === 'by_sort_key' && part.sought?.kind === 'text')
    return {
      table: 'run_texts',
      column: 'run_texts.text',
      rows: `run_texts CROSS JOIN run_views ${by(index)}
        ON run_views.org_id = run_texts.org_id AND run_views.sort_key = run_texts.sort_key`,
    };
  return {
    table: 'run_views',
    column: `run_views.${field ?? 'sort_key'}`,
    rows: `run_views ${by(index)}`,
  };
};

/** Texts are folded on both sides, so their characters are compared as they are. */
const isSought = (sought: Sought, table: string): Statement => {
  if (sought.kind !== 'text')
    return {
      sql: 'run_views.run_id >= ? AND run_views.run_id < ?',
      values: [sought.from, sought.before],
    };
  const ofDeployments = isOneOf('run_texts.deployment_id', sought.deploymentIds);
  const found = `(instr(run_texts.text, ?) > 0 OR ${ofDeployments.sql})`;
  const values = [sought.text, ...ofDeployments.values];
  if (table === 'run_texts') return { sql: found, values };
  return {
    sql: `EXISTS (SELECT 1 FROM run_texts WHERE run_texts.org_id = ${table}.org_id
           AND run_texts.sort_key = ${table}.sort_key AND ${found})`,
    values,
  };
};

const otherCondition = ({ field, values }: FieldCondition): Statement => {
  if (field !== 'tags') return isOneOf(`run_views.${field}`, values);
  const hasOther = isOneOf('other.tag', values);
  return {
    sql: `EXISTS (SELECT 1 FROM run_tags AS other WHERE other.org_id = run_views.org_id AND ${hasOther.sql}
           AND other.sort_key = run_views.sort_key)`,
    values: hasOther.values,
  };
};

const MOMENTS = ['created', 'started', 'ended'] as const;

/** Of the interval that a time is in. */
const placeOf = (column: `${(typeof MOMENTS)[number]}_ms`, query: ActivityQuery): string => {
  const [from, to] = [query.from.getTime(), query.to.getTime()];
  return `CASE WHEN ${column} IS NULL OR ${column} >= ${to} THEN ${pointsOf(query)}
     WHEN ${column} < ${from} THEN -1 ELSE (${column} - ${from}) / ${query.stepMs} END`;
};
