import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { ProjectionPosition } from '../projection-start.decide.ts';
import type { StoredView } from '../run-view.ts';
import { storedRun, type Column, type StoredRun, runName } from '../stored-run.decide.ts';
import { COLUMNS } from './database.ts';
import { openOtherTables, type Written } from './tables.ts';
import { LRUCache } from 'lru-cache';
import type { RunKey } from '@runledger/contracts/events/subjects';

const RESET_AT_ONCE = 1_000;

/** What the projection needs of the file. */
export interface AdvancedViews {
  readonly position: () => ProjectionPosition | undefined;
  readonly advance: (
    views: readonly StoredView[],
    from: ProjectionPosition,
    to: ProjectionPosition,
  ) => boolean;
}

/** The file as it is. Each call but a reset is one transaction. Every call throws the errors of SQLite. */
export interface WrittenViews extends AdvancedViews {
  readonly save: (views: readonly StoredView[]) => void;
  readonly remove: (views: readonly StoredView[]) => number;
  readonly resetTo: (beginning: ProjectionPosition) => Promise<void>;
}

export const writeViews = (database: DatabaseSync, recent: RecentViews): WrittenViews => {
  const write = rowWriter(database);
  const remove = database.prepare(
    'DELETE FROM run_views WHERE run_id = ? AND org_id = ? AND head = ? AND webhook_head = ?',
  );
  const others = openOtherTables(database);
  const position = storedPosition(database);
  const resetHeads = headResetter(database);
  /** What the file has of these views afterwards: of a stale one, it is not known. */
  const saveEach = (views: readonly StoredView[]): (() => void)[] =>
    views.map((view) => {
      const stored = storedRun(view);
      const written = write(stored, Boolean(recent.get(view.run)));
      if (written === undefined) return () => recent.forget(view.run);
      others.write(stored, written);
      const bytes = stored.run.length + (stored.webhook?.length ?? 0);
      return () => recent.set(view, bytes);
    });
  const removeOne = ({ head, run, webhook }: StoredView): boolean => {
    if (remove.run(run.run_id, run.org_id, head, webhook.head).changes === 0) return false;
    others.remove(run.run_id);
    return true;
  };
  return {
    save: (views) => inTransaction(database, () => saveEach(views)).forEach((note) => note()),
    remove: (views) => {
      views.forEach(({ run }) => recent.forget(run));
      const removed = inTransaction(database, () => views.filter(removeOne).length);
      // The file gets smaller.
      database.exec('PRAGMA incremental_vacuum');
      return removed;
    },
    position: position.read,
    advance: (views, from, to) => {
      const notes = inTransaction(database, () => (position.move(from, to) ? saveEach(views) : undefined));
      notes?.forEach((note) => note());
      return notes !== undefined;
    },
    resetTo: async (beginning) => {
      await resetHeads();
      // Last: after a crash in between, the reset begins again.
      position.reset(beginning);
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
      const last = nextRows.get(after)?.['last'];
      if (typeof last !== 'number') break;
      reset.run(after, last);
      after = last;
      await yieldToOthers();
    }
  };
};

/** What the first fact of a run says, which its sort key names: it stays as it is until the run is deleted. */
const OF_FIRST_FACT: ReadonlySet<Column> = new Set([
  'run_id',
  'org_id',
  'sort_key',
  'number',
  'created_at',
  'created_ms',
  'deployment_id',
  'workflow_id',
  'origin',
  'webhook_host',
  'webhook_url',
]);
const LATER_COLUMNS = COLUMNS.filter((column) => !OF_FIRST_FACT.has(column));

/**
 * Writes a row unless the stored one has a later head, and says what it wrote; undefined for nothing. A run is written for several of its facts, and
 * most of the indexes have only what the first fact says: without that, a later write leaves them alone. `isKnown`: there is a row,
 * for certain.
 */
const rowWriter = (
  database: DatabaseSync,
): ((stored: StoredRun, isKnown: boolean) => Written | undefined) => {
  // A row whose head is 0 may be of another log, or of an earlier release: it is written as a whole.
  const update = database.prepare(
    `UPDATE run_views SET ${LATER_COLUMNS.map((column) => `${column} = ?`).join(', ')}
     WHERE run_id = ? AND org_id = ? AND sort_key = ? AND head > 0 AND head <= ? AND webhook_head <= ?`,
  );
  const values = `(${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`;
  const insert = database.prepare(`INSERT INTO run_views ${values} ON CONFLICT (run_id) DO NOTHING`);
  const changes = COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ');
  const upsert = database.prepare(
    `INSERT INTO run_views ${values} ON CONFLICT (run_id) DO UPDATE SET ${changes}
     WHERE org_id = excluded.org_id AND head <= excluded.head AND webhook_head <= excluded.webhook_head`,
  );
  const updates = (stored: StoredRun): boolean => {
    const { run_id, org_id, sort_key, head, webhook_head } = stored;
    const later = LATER_COLUMNS.map((column) => stored[column]);
    return update.run(...later, run_id, org_id, sort_key, head, webhook_head).changes !== 0;
  };
  return (stored, isKnown) => {
    const all = COLUMNS.map((column) => stored[column]);
    if (!isKnown && insert.run(...all).changes !== 0) return 'new';
    if (updates(stored)) return 'later_columns';
    return upsert.run(...all).changes === 0 ? undefined : 'whole';
  };
};

const POSITION = 'run_views';

const storedPosition = (database: DatabaseSync) => {
  const read = database.prepare(
    'SELECT stream_created, derivation, derived_from, sequence, event_id, counts, missed FROM projection WHERE name = ?',
  );
  const move = database.prepare(
    `UPDATE projection SET stream_created = ?, derivation = ?, sequence = ?, event_id = ?, derived_from = ?, counts = ?,
       missed = ?
     WHERE name = ? AND stream_created = ? AND derivation = ? AND sequence = ? AND event_id IS ?`,
  );
  const replace = database.prepare('INSERT OR REPLACE INTO projection VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
  return {
    read: (): ProjectionPosition | undefined => {
      const row = read.get(POSITION);
      if (!row) return undefined;
      const [counts, missed] = [String(row['counts']), String(row['missed'])].map((text) => JSON.parse(text));
      return { ...row, counts, missed } as unknown as ProjectionPosition;
    },
    move: (from: ProjectionPosition, to: ProjectionPosition) =>
      move.run(...placeOf(to), ...restOf(to), POSITION, ...placeOf(from)).changes === 1,
    reset: (beginning: ProjectionPosition) =>
      replace.run(POSITION, ...placeOf(beginning), ...restOf(beginning)),
  };
};

const placeOf = ({ stream_created, derivation, sequence, event_id }: ProjectionPosition) =>
  [stream_created, derivation, sequence, event_id] as const;

const restOf = ({ derived_from, counts, missed }: ProjectionPosition) =>
  [derived_from, JSON.stringify(counts), JSON.stringify(missed)] as const;

/** Of the JSON text of the views: ten thousand runs of 3 kB. As objects they take a little more. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Of a run without a view: a batch of facts begins with some. */
const ABSENT_BYTES = 200;

/** The views of the file that were used last. Only this process writes the file, so they are as the file has them. */
export interface RecentViews {
  /** Null when the file has none, undefined when that is not known here. */
  readonly get: (key: RunKey) => StoredView | null | undefined;
  /** `bytes`: of its JSON text. */
  readonly set: (view: StoredView, bytes: number) => void;
  readonly setAbsent: (key: RunKey) => void;
  readonly forget: (key: RunKey) => void;
  readonly clear: () => void;
}

export const recentViews = (maxBytes = MAX_BYTES): RecentViews => {
  const recent = new LRUCache<string, { readonly view: StoredView | null }>({ maxSize: maxBytes });
  return {
    get: (key) => recent.get(runName(key))?.view,
    set: (view, bytes) => void recent.set(runName(view.run), { view }, { size: bytes }),
    setAbsent: (key) => void recent.set(runName(key), { view: null }, { size: ABSENT_BYTES }),
    forget: (key) => void recent.delete(runName(key)),
    clear: () => recent.clear(),
  };
};
