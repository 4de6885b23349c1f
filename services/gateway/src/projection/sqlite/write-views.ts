import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { StoredView } from '../core/run-view.ts';
import { storedRun } from '../core/stored-run.ts';
import type { RunViews } from '../run-views.ts';
import { orUnavailable } from './open-database.ts';
import { storedPosition } from './projection-position.ts';
import { openRunTags } from './run-tags.ts';
import { rowWriter } from './write-row.ts';
import { openSums } from './sums.ts';

const RESET_AT_ONCE = 1_000;

/** Each call but a reset is one transaction. */
export const writeViews = (
  database: DatabaseSync,
): Pick<RunViews, 'save' | 'remove' | 'position' | 'advance' | 'resetTo'> => {
  const write = rowWriter(database);
  const remove = database.prepare(
    'DELETE FROM run_views WHERE run_id = ? AND org_id = ? AND head = ? AND webhook_head = ?',
  );
  const sums = openSums(database);
  const tags = openRunTags(database);
  const position = storedPosition(database);
  const nextRows = database.prepare(
    `SELECT max(rowid) AS last FROM (SELECT rowid FROM run_views WHERE rowid > ? ORDER BY rowid LIMIT ${RESET_AT_ONCE})`,
  );
  const reset = database.prepare(
    'UPDATE run_views SET head = 0, webhook_head = 0 WHERE rowid > ? AND rowid <= ?',
  );
  const saveEach = (views: readonly StoredView[]): void => {
    for (const view of views) {
      const stored = storedRun(view);
      const written = write(stored);
      if (written !== 'nothing') sums.count(stored);
      if (written === 'whole') tags.set(stored);
    }
  };
  const removeOne = ({ head, run, webhook }: StoredView): boolean => {
    if (remove.run(run.run_id, run.org_id, head, webhook.head).changes === 0) return false;
    sums.uncount(run.run_id);
    tags.remove(run.run_id);
    return true;
  };
  return {
    save: async (views) =>
      orUnavailable('saving run views', () => inTransaction(database, () => saveEach(views))),
    remove: async (views) =>
      orUnavailable('removing run views', () => {
        const removed = inTransaction(database, () => views.filter(removeOne).length);
        // The file gets smaller.
        database.exec('PRAGMA incremental_vacuum');
        return removed;
      }),
    position: async () => orUnavailable('reading the position of the projection', position.read),
    advance: async (views, from, to) =>
      orUnavailable('saving run views and the position of the projection', () =>
        inTransaction(database, () => {
          saveEach(views);
          return position.move(from, to);
        }),
      ),
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
