import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { runListQuery, webhookListQuery, type ListQuery } from '../core/list-query.ts';
import { pageOf, type Page } from '../core/page.ts';
import { scanList } from '../core/scan-list.ts';
import { RUN_LIST, WEBHOOK_LIST, type StoredList } from '../core/stored-list.ts';
import { FINAL_STATUSES } from '../core/run-view.ts';
import { storedRun, VIEW_FIELDS, viewOf, type StoredRun } from '../core/stored-run.ts';
import type { ReadingViews, RunViews } from '../run-views.ts';
import { openDatabase, orUnavailable } from './open-database.ts';
import { oldestRuns, unsettledRuns } from './oldest-runs.ts';
import { rowReader } from './read-lists.ts';
import { readReferences } from './read-references.ts';
import { storedPosition } from './projection-position.ts';
import { COLUMNS, ERASE_INDEX, FILES_INDEX } from './schema.ts';
import { openSums } from './sums.ts';

export interface SqliteSettings {
  /** Of the file, or `:memory:`. */
  readonly path: string;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** The longest search for one page of a list. Other requests wait meanwhile. */
const SEARCH_FOR_MS = 50;
const RESET_AT_ONCE = 1_000;

/**
 * Views in a file of one gateway. Each call is done before it returns: a call takes microseconds, and a list with several
 * filters reads in pieces. @throws {ViewsUnavailable} when the file cannot be used
 */
export const openSqliteRunViews = ({ path, clock }: SqliteSettings): RunViews & AsyncDisposable => {
  const database = openDatabase(path);
  return {
    shared: false,
    ...readViews(database, clock),
    ...readReferences(database),
    ...writeViews(database),
    [Symbol.asyncDispose]: async () => database.close(),
  };
};

const readViews = (database: DatabaseSync, clock: () => number): ReadingViews => {
  const one = database.prepare(
    `SELECT ${VIEW_FIELDS.join(', ')} FROM run_views WHERE run_id = ? AND org_id = ?`,
  );
  const queued = database.prepare(
    `SELECT count(*) AS queued FROM (SELECT 1 FROM run_views WHERE org_id = ? AND status = 'queued' LIMIT ?)`,
  );
  const toErase = database.prepare(
    `SELECT ${VIEW_FIELDS.join(', ')} FROM run_views INDEXED BY ${ERASE_INDEX}
     WHERE to_erase > 0 AND run_id > ? ORDER BY run_id LIMIT ?`,
  );
  const withFiles = database.prepare(
    `SELECT ${VIEW_FIELDS.join(', ')} FROM run_views INDEXED BY ${FILES_INDEX}
     WHERE org_id = ? AND output_bytes > 0 AND updated_at < ? AND status IN (${FINAL_STATUSES.map(() => '?').join(', ')})
     ORDER BY updated_at LIMIT ?`,
  );
  const outputBytes = database.prepare(
    'SELECT total(bytes) AS bytes FROM output_bytes WHERE org_id = ? AND day >= ?',
  );
  const find: RunViews['find'] = async ({ run_id, org_id }) =>
    orUnavailable('reading a run view', () => {
      const row = one.get(run_id, org_id);
      return row && viewOf(row as unknown as StoredRun);
    });
  const limits = { giveUpAfterMs: SEARCH_FOR_MS, clock };
  const list = <Item>(shown: StoredList<Item>, query: ListQuery, limit: number): Promise<Page<Item>> =>
    pageOf(scanList(rowReader(database, shown, limit + 1), query, limits), limit);
  return {
    find,
    load: async (keys) => (await Promise.all(keys.map(find))).filter((view) => view !== undefined),
    listRuns: (query) => list(RUN_LIST, runListQuery(query), query.limit),
    listWebhooks: (query) => list(WEBHOOK_LIST, webhookListQuery(query), query.limit),
    listOldest: oldestRuns(database),
    listUnsettled: unsettledRuns(database),
    listWithFiles: async ({ org_id, endedBefore, limit }) =>
      orUnavailable('listing runs with files', () =>
        withFiles
          .all(org_id, endedBefore.toISOString(), ...FINAL_STATUSES, limit)
          .map((row) => viewOf(row as unknown as StoredRun)),
      ),
    listToErase: async ({ after, limit }) =>
      orUnavailable('listing views with files to erase', () =>
        toErase.all(after, limit).map((row) => viewOf(row as unknown as StoredRun)),
      ),
    countQueued: async (orgId, atMost) =>
      orUnavailable('counting queued runs', () => Number(queued.get(orgId, atMost)?.['queued'])),
    sumOutputBytes: async (orgId, sinceDay) =>
      orUnavailable('adding up output bytes', () => Number(outputBytes.get(orgId, sinceDay)?.['bytes'])),
  };
};

const writeViews = (
  database: DatabaseSync,
): Pick<RunViews, 'save' | 'remove' | 'position' | 'movePosition' | 'resetTo'> => {
  const changes = COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ');
  const upsert = database.prepare(
    `INSERT INTO run_views (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})
     ON CONFLICT (run_id) DO UPDATE SET ${changes}
     WHERE org_id = excluded.org_id AND head <= excluded.head AND webhook_head <= excluded.webhook_head`,
  );
  const remove = database.prepare(
    'DELETE FROM run_views WHERE run_id = ? AND org_id = ? AND head = ? AND webhook_head = ?',
  );
  const sums = openSums(database);
  const position = storedPosition(database);
  const nextRows = database.prepare(
    `SELECT max(rowid) AS last FROM (SELECT rowid FROM run_views WHERE rowid > ? ORDER BY rowid LIMIT ${RESET_AT_ONCE})`,
  );
  const reset = database.prepare(
    'UPDATE run_views SET head = 0, webhook_head = 0 WHERE rowid > ? AND rowid <= ?',
  );
  return {
    save: async (views) =>
      orUnavailable('saving run views', () =>
        inTransaction(database, () => {
          for (const view of views) {
            const stored = storedRun(view);
            const { changes } = upsert.run(...COLUMNS.map((column) => stored[column]));
            // A stale view changes nothing.
            if (changes !== 0) sums.count(stored);
          }
        }),
      ),
    remove: async (views) =>
      orUnavailable('removing run views', () => {
        const removed = inTransaction(database, () => {
          const gone = views.filter(
            ({ head, run, webhook }) => remove.run(run.run_id, run.org_id, head, webhook.head).changes !== 0,
          );
          for (const { run } of gone) sums.uncount(run.run_id);
          return gone.length;
        });
        // The file gets smaller.
        database.exec('PRAGMA incremental_vacuum');
        return removed;
      }),
    position: async () => orUnavailable('reading the position of the projection', position.read),
    movePosition: async (from, to) =>
      orUnavailable('saving the position of the projection', () => position.move(from, to)),
    resetTo: async (beginning) => {
      const what = 'resetting the run views';
      for (let after = 0; ;) {
        const last = orUnavailable(what, () => nextRows.get(after)?.['last']);
        if (typeof last !== 'number') break;
        orUnavailable(what, () => reset.run(after, last));
        after = last;
        await yieldToOthers();
      }
      // Last: after a crash in between, the reset begins again.
      orUnavailable(what, () => position.reset(beginning));
    },
  };
};

const inTransaction = <Result>(database: DatabaseSync, work: () => Result): Result => {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk may have ended the transaction already.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
};
