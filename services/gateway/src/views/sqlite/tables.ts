import type { DatabaseSync } from 'node:sqlite';
import {
  COLUMN_TYPES,
  type Column,
  type StoredRun,
  BLOB_FIELDS,
  bytesField,
  type BlobField,
} from '../stored-run.decide.ts';

/** A run has several tags, so they are rows of their own, in the order of the list. */
export const TAGS_SCHEMA: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS run_tags
     (org_id TEXT NOT NULL, tag TEXT NOT NULL, sort_key TEXT NOT NULL, run_id TEXT NOT NULL,
      PRIMARY KEY (org_id, tag, sort_key)) STRICT, WITHOUT ROWID`,
  'CREATE INDEX IF NOT EXISTS run_tags_by_run ON run_tags (run_id)',
];

const ofOld = 'org_id = old.org_id AND sort_key = old.sort_key';

/**
 * What a search looks at, in the order of the list: it reads these rows one behind the other, and no others. A row goes with the sort key
 * of its run.
 */
export const TEXTS_SCHEMA: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS run_texts
     (org_id TEXT NOT NULL, sort_key TEXT NOT NULL, deployment_id TEXT, text TEXT NOT NULL,
      PRIMARY KEY (org_id, sort_key)) STRICT, WITHOUT ROWID`,
  `CREATE TRIGGER IF NOT EXISTS text_moved AFTER UPDATE OF sort_key ON run_views
     WHEN old.sort_key IS NOT NULL AND old.sort_key IS NOT new.sort_key BEGIN DELETE FROM run_texts WHERE ${ofOld}; END`,
  `CREATE TRIGGER IF NOT EXISTS text_removed AFTER DELETE ON run_views
     WHEN old.sort_key IS NOT NULL BEGIN DELETE FROM run_texts WHERE ${ofOld}; END`,
];

/** What the sums are made of. Most runs add nothing to any sum, and have no row: a trigger costs half as much as saving a view. */
const COUNTED_COLUMNS = [
  'run_id',
  'org_id',
  'updated_at',
  'output_bytes',
  ...BLOB_FIELDS.flatMap((field) => [field, bytesField(field)]),
] as const satisfies Column[];

const isCounted = (stored: StoredRun): boolean =>
  stored.output_bytes > 0 || BLOB_FIELDS.some((field) => stored[field] !== null);

/** Adds to the day of the row `new`, or subtracts from that of `old`. */
const changeBytes = (row: 'new' | 'old', sign: '+' | '-'): string =>
  `INSERT INTO output_bytes SELECT ${row}.org_id, ${dayOf(row)}, ${sign}${row}.output_bytes WHERE ${row}.output_bytes > 0
     ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes`;
const dayOf = (row: 'new' | 'old'): string => `substr(${row}.updated_at, 1, 10)`;
const dropEmptyDay = `DELETE FROM output_bytes WHERE org_id = old.org_id AND day = ${dayOf('old')} AND bytes = 0`;

const addBlob = (field: BlobField): string =>
  `INSERT INTO run_blobs SELECT new.org_id, new.${field}, new.${bytesField(field)}, 1 WHERE new.${field} IS NOT NULL
     ON CONFLICT DO UPDATE SET runs = runs + 1`;
const removeBlob = (field: BlobField): string => {
  const present = `org_id = old.org_id AND sha256 = old.${field}`;
  return `UPDATE run_blobs SET runs = runs - 1 WHERE ${present}; DELETE FROM run_blobs WHERE ${present} AND runs = 0`;
};

const ADD = [changeBytes('new', '+'), ...BLOB_FIELDS.map(addBlob)];
const REMOVE = [changeBytes('old', '-'), dropEmptyDay, ...BLOB_FIELDS.map(removeBlob)];

const trigger = (name: string, event: string, statements: readonly string[]): string =>
  `CREATE TRIGGER IF NOT EXISTS ${name} AFTER ${event} BEGIN ${statements.join('; ')}; END`;

/**
 * The bytes of output files by organisation and day, how many runs refer to each blob, and the bytes of all blobs of an
 * organisation, each counted once. SQLite keeps them with each change: adding a million runs up would take too long.
 */
export const SUMS_SCHEMA: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS counted_runs
     (${COUNTED_COLUMNS.map((name) => `${name} ${COLUMN_TYPES[name]}`).join(', ')}) STRICT, WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS output_bytes
     (org_id TEXT NOT NULL, day TEXT NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (org_id, day)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS run_blobs
     (org_id TEXT NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, runs INTEGER NOT NULL,
      PRIMARY KEY (org_id, sha256)) STRICT, WITHOUT ROWID`,
  'CREATE TABLE IF NOT EXISTS blob_bytes (org_id TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID',
  trigger('counted_new', 'INSERT ON counted_runs', ADD),
  trigger('counted_changed', 'UPDATE ON counted_runs', [...ADD, ...REMOVE]),
  trigger('counted_old', 'DELETE ON counted_runs', REMOVE),
  trigger('first_of_blob', 'INSERT ON run_blobs', [
    'INSERT INTO blob_bytes VALUES (new.org_id, new.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes',
  ]),
  trigger('last_of_blob', 'DELETE ON run_blobs', [
    'UPDATE blob_bytes SET bytes = bytes - old.bytes WHERE org_id = old.org_id',
    'DELETE FROM blob_bytes WHERE org_id = old.org_id AND bytes = 0',
  ]),
];

/** How a view was written: there was no row, or it is written as a whole, or without what the first fact says. */
export type Written = 'new' | 'whole' | 'later_columns';

/** What the other tables have of the views. In the transaction that changes the view, after it. */
interface OtherTables {
  readonly write: (stored: StoredRun, written: Written) => void;
  readonly remove: (run_id: string) => void;
}

export const openOtherTables = (database: DatabaseSync): OtherTables => {
  const names = COUNTED_COLUMNS.join(', ');
  const values = COUNTED_COLUMNS.map(() => '?').join(', ');
  const changes = COUNTED_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ');
  const count = database.prepare(
    `INSERT INTO counted_runs (${names}) VALUES (${values}) ON CONFLICT (run_id) DO UPDATE SET ${changes}`,
  );
  const uncount = database.prepare('DELETE FROM counted_runs WHERE run_id = ?');
  const removeTags = database.prepare('DELETE FROM run_tags WHERE run_id = ?');
  const addTag = database.prepare('INSERT INTO run_tags (org_id, tag, sort_key, run_id) VALUES (?, ?, ?, ?)');
  const saveText = database.prepare(
    `INSERT INTO run_texts (org_id, sort_key, deployment_id, text) VALUES (?, ?, ?, ?)
     ON CONFLICT (org_id, sort_key) DO UPDATE SET deployment_id = excluded.deployment_id, text = excluded.text
     WHERE text <> excluded.text OR deployment_id IS NOT excluded.deployment_id`,
  );
  return {
    write: (stored, written) => {
      const { run_id, org_id, sort_key, deployment_id, ended_ms, tags, search_text } = stored;
      if (isCounted(stored)) count.run(...COUNTED_COLUMNS.map((column) => stored[column]));
      else if (written !== 'new') uncount.run(run_id);
      // Later facts change no tags.
      if (written !== 'later_columns') {
        removeTags.run(run_id);
        for (const tag of tags ?? []) addTag.run(org_id, tag, sort_key, run_id);
      }
      // Of the later facts only the end of a run changes its text.
      const isText = written !== 'later_columns' || ended_ms !== null;
      if (isText && sort_key !== null) saveText.run(org_id, sort_key, deployment_id, search_text);
    },
    remove: (run_id) => {
      uncount.run(run_id);
      removeTags.run(run_id);
    },
  };
};
