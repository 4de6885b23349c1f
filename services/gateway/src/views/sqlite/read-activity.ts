import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { pointsOf, type ActivityGroup, type ActivityReader } from '../counts.decide.ts';
import type { ActivityQuery } from '../list-query.decide.ts';
import type { StoredRun } from '../stored-run.decide.ts';
import { orUnavailable, ENDED_INDEX } from './database.ts';
import { branchesOf, sortKeyReader, type Statement } from './read-lists.ts';

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
