import { isEnded } from '@runledger/contracts/fold/run';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { ProjectionPosition } from '../core/projection-start.ts';
import type { StoredView } from '../core/run-view.ts';
import { storedRun } from '../core/stored-run.ts';
import { orUnavailable } from './open-database.ts';
import { storedPosition } from './projection-position.ts';
import type { RecentViews } from './recent-views.ts';
import { openRunTags } from './tables/run-tags.ts';
import { openRunTexts } from './tables/run-texts.ts';
import { rowWriter } from './write-row.ts';
import { openSums } from './tables/sums.ts';

const RESET_AT_ONCE = 1_000;

/** The file as it is. Each call but a reset is one transaction. Every call throws ViewsUnavailable when the file cannot be used. */
export interface WrittenViews {
  readonly save: (views: readonly StoredView[]) => void;
  readonly remove: (views: readonly StoredView[]) => number;
  readonly position: () => ProjectionPosition | undefined;
  readonly advance: (
    views: readonly StoredView[],
    from: ProjectionPosition,
    to: ProjectionPosition,
  ) => boolean;
  readonly resetTo: (beginning: ProjectionPosition) => Promise<void>;
}

export const writeViews = (database: DatabaseSync, recent: RecentViews): WrittenViews => {
  const write = rowWriter(database);
  const remove = database.prepare(
    'DELETE FROM run_views WHERE run_id = ? AND org_id = ? AND head = ? AND webhook_head = ?',
  );
  const sums = openSums(database);
  const tags = openRunTags(database);
  const texts = openRunTexts(database);
  const position = storedPosition(database);
  const resetHeads = headResetter(database);
  /** What the file has of these views afterwards: of a stale one, it is not known. */
  const saveEach = (views: readonly StoredView[]): (() => void)[] =>
    views.map((view) => {
      const stored = storedRun(view);
      const written = write(stored, Boolean(recent.get(view.run)));
      if (written === 'nothing') return () => recent.forget(view.run);
      if (written === 'new') sums.countNew(stored);
      else sums.count(stored);
      if (written !== 'later_columns') tags.set(stored);
      if (written !== 'later_columns' || isEnded(view.run)) texts.set(stored);
      const bytes = stored.run.length + (stored.webhook?.length ?? 0);
      return () => recent.set(view, bytes);
    });
  const removeOne = ({ head, run, webhook }: StoredView): boolean => {
    if (remove.run(run.run_id, run.org_id, head, webhook.head).changes === 0) return false;
    sums.uncount(run.run_id);
    tags.remove(run.run_id);
    return true;
  };
  return {
    save: (views) =>
      orUnavailable('saving run views', () => {
        inTransaction(database, () => saveEach(views)).forEach((note) => note());
      }),
    remove: (views) =>
      orUnavailable('removing run views', () => {
        views.forEach(({ run }) => recent.forget(run));
        const removed = inTransaction(database, () => views.filter(removeOne).length);
        // The file gets smaller.
        database.exec('PRAGMA incremental_vacuum');
        return removed;
      }),
    position: () => orUnavailable('reading the position of the projection', position.read),
    advance: (views, from, to) =>
      orUnavailable('saving run views and the position of the projection', () => {
        const notes = inTransaction(database, () => (position.move(from, to) ? saveEach(views) : undefined));
        notes?.forEach((note) => note());
        return notes !== undefined;
      }),
    resetTo: async (beginning) => {
      await resetHeads();
      // Last: after a crash in between, the reset begins again.
      orUnavailable(RESETTING, () => position.reset(beginning));
      recent.clear();
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

const RESETTING = 'resetting the run views';

/** All heads go back to 0, some at a time. */
const headResetter = (database: DatabaseSync): (() => Promise<void>) => {
  const nextRows = database.prepare(
    `SELECT max(rowid) AS last FROM (SELECT rowid FROM run_views WHERE rowid > ? ORDER BY rowid LIMIT ${RESET_AT_ONCE})`,
  );
  const reset = database.prepare(
    'UPDATE run_views SET head = 0, webhook_head = 0 WHERE rowid > ? AND rowid <= ?',
  );
  return async () => {
    for (let after = 0; ;) {
      const last = orUnavailable(RESETTING, () => nextRows.get(after)?.['last']);
      if (typeof last !== 'number') break;
      orUnavailable(RESETTING, () => reset.run(after, last));
      after = last;
      await yieldToOthers();
    }
  };
};
