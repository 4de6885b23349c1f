import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ViewsUnavailable } from '../run-views.ts';
import { FILTERS, type FilterField } from '../list-query.decide.ts';
import { LIVE_FIELDS } from '../run-references.decide.ts';
import type { StoredRun } from '../stored-run.decide.ts';
import { TAGS_SCHEMA, TEXTS_SCHEMA, SUMS_SCHEMA } from './tables.ts';

export const IN_MEMORY = ':memory:';
const OWNER_ONLY = 0o600;

/**
 * Opens the file, or makes it, with its tables and indexes. Only one process has it open at a time.
 * @throws {ViewsUnavailable} with what to do
 */
export const openDatabase = (path: string, version: number): DatabaseSync =>
  orUnavailable(`opening ${path}`, () => {
    // SQLite gives a new file to all users; its other files get the rights of this one.
    if (path !== IN_MEMORY) closeSync(openSync(path, 'a', OWNER_ONLY));
    const database = new DatabaseSync(path);
    try {
      // The log has everything, so a power cut may take the last views: the position goes with them.
      database.exec(`
        PRAGMA auto_vacuum = INCREMENTAL;
        PRAGMA locking_mode = EXCLUSIVE;
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = NORMAL;
      `);
      const found = database.prepare('PRAGMA user_version').get()?.['user_version'];
      if (found !== 0 && found !== version) {
        const remedy =
          Number(found) < version
            ? 'those of this version are being made from them and the log'
            : 'start the later release again, or move the file away, and they are derived from the log';
        throw new Error(
          `it has views of version ${String(found)}, and this release reads version ${version}: ${remedy}`,
        );
      }
      database.exec(`BEGIN IMMEDIATE; ${SCHEMA}; PRAGMA user_version = ${version}; COMMIT;`);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });

const isCode = (error: unknown, code: number): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === code;

const SQLITE_BUSY = 5;

/** @throws {ViewsUnavailable} for every error of the database */
export const orUnavailable = <Result>(what: string, work: () => Result): Result => {
  try {
    return work();
  } catch (error) {
    const why = isCode(error, SQLITE_BUSY)
      ? 'another process has it open. Give each gateway a file of its own (RUNLEDGER_VIEWS_FILE), or let them share MongoDB'
      : String(error instanceof Error ? error.message : error);
    throw new ViewsUnavailable(`${what}: SQLite failed (${why})`, { cause: error });
  }
};

/** Tags and the text of a search are rows of their own. */
export type Column = Exclude<keyof StoredRun, 'tags' | 'search_text'>;

const COLUMN_TYPES = {
  run_id: 'TEXT PRIMARY KEY',
  org_id: 'TEXT NOT NULL',
  sort_key: 'TEXT',
  head: 'INTEGER NOT NULL',
  number: 'INTEGER NOT NULL',
  status: 'TEXT NOT NULL',
  deployment_id: 'TEXT',
  workflow_id: 'TEXT',
  gpu: 'TEXT',
  origin: 'TEXT',
  created_at: 'TEXT NOT NULL',
  created_ms: 'INTEGER',
  started_ms: 'INTEGER',
  ended_ms: 'INTEGER',
  updated_at: 'TEXT NOT NULL',
  output_bytes: 'INTEGER NOT NULL',
  unsettled: 'INTEGER NOT NULL',
  to_erase: 'INTEGER NOT NULL',
  inputs_blob: 'TEXT',
  inputs_blob_bytes: 'INTEGER NOT NULL',
  outputs_blob: 'TEXT',
  outputs_blob_bytes: 'INTEGER NOT NULL',
  log_blob: 'TEXT',
  log_blob_bytes: 'INTEGER NOT NULL',
  live_workflow_sha256: 'TEXT',
  live_workflow_version_id: 'TEXT',
  live_deployment_id: 'TEXT',
  live_machine_id: 'TEXT',
  webhook_head: 'INTEGER NOT NULL',
  webhook: 'TEXT',
  webhook_status: 'TEXT',
  webhook_host: 'TEXT',
  webhook_url: 'TEXT',
  // The last, since it may be large: SQLite reads a row up to the columns that it needs.
  run: 'TEXT NOT NULL',
} as const satisfies Record<Column, string>;

export const COLUMNS = Object.keys(COLUMN_TYPES) as Column[];

/** The index by which lists with this filter are read; without one, that of the whole list. */
export const indexOf = (field: FilterField | 'sort_key'): string => `run_views_by_${field}`;

/** Most runs have no webhook. A list names the values that it wants, so it needs none without. */
const onlyWith = (field: FilterField): string =>
  field === 'webhook_status' || field === 'webhook_host' ? ` WHERE ${field} IS NOT NULL` : '';

/** Of one organisation, by the beginning of an id. */
export const ID_INDEX = 'run_views_by_id';

/** Of all organisations. */
export const STATUS_INDEX = 'run_views_by_status_alone';

/** Of all organisations, without the many that are settled. */
export const UNSETTLED_INDEX = 'run_views_unsettled';

/** Without the many runs that have no files. */
export const FILES_INDEX = 'run_views_with_files';

/** Of runs that have ended; what they did is read from this index alone. */
export const ENDED_INDEX = 'run_views_ended';

/** Of all organisations, without the many that have nothing to erase. */
export const ERASE_INDEX = 'run_views_to_erase';

/** Of all organisations, only runs that were deleted. */
export const DELETED_INDEX = 'run_views_deleted';

/**
 * Runs that have not ended, by what they were queued with. One index for all of it: a workflow is looked up in it, and for a version,
 * a deployment or a machine that is to be deleted, which is rare, the organisation's part is read.
 */
export const LIVE_INDEX = 'run_views_live';
export const IS_LIVE = 'live_workflow_sha256 IS NOT NULL';

const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS run_views (${COLUMNS.map((name) => `${name} ${COLUMN_TYPES[name]}`).join(', ')}) STRICT`,
  `CREATE INDEX IF NOT EXISTS ${indexOf('sort_key')} ON run_views (org_id, sort_key)`,
  `CREATE INDEX IF NOT EXISTS ${ID_INDEX} ON run_views (org_id, run_id, sort_key)`,
  ...FILTERS.filter((field) => field !== 'tags').map(
    (field) =>
      `CREATE INDEX IF NOT EXISTS ${indexOf(field)} ON run_views (org_id, ${field}, sort_key)${onlyWith(field)}`,
  ),
  `CREATE INDEX IF NOT EXISTS ${STATUS_INDEX} ON run_views (status, sort_key)`,
  `CREATE INDEX IF NOT EXISTS ${UNSETTLED_INDEX} ON run_views (sort_key) WHERE unsettled > 0`,
  `CREATE INDEX IF NOT EXISTS ${FILES_INDEX} ON run_views (org_id, updated_at) WHERE output_bytes > 0`,
  `CREATE INDEX IF NOT EXISTS ${ENDED_INDEX} ON run_views (org_id, ended_ms, created_ms, started_ms, status)
     WHERE ended_ms IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS ${ERASE_INDEX} ON run_views (run_id) WHERE to_erase > 0`,
  `CREATE INDEX IF NOT EXISTS ${DELETED_INDEX} ON run_views (to_erase, updated_at) WHERE status = 'deleted'`,
  `CREATE INDEX IF NOT EXISTS ${LIVE_INDEX} ON run_views (org_id, ${LIVE_FIELDS.join(', ')}) WHERE ${IS_LIVE}`,
  ...SUMS_SCHEMA,
  ...TAGS_SCHEMA,
  ...TEXTS_SCHEMA,
  `CREATE TABLE IF NOT EXISTS projection
     (name TEXT PRIMARY KEY, stream_created TEXT NOT NULL, derivation INTEGER NOT NULL, sequence INTEGER NOT NULL,
      event_id TEXT, derived_from TEXT NOT NULL, counts TEXT NOT NULL, missed TEXT NOT NULL) STRICT`,
].join(';\n');
