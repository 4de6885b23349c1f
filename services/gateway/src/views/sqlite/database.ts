import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ViewsUnavailable } from '../run-views.ts';
import { allIndexes, INDEXES, type Index, type IndexName } from '../stored-queries.decide.ts';
import { LIVE_FIELDS, COLUMN_TYPES, type Column } from '../stored-run.decide.ts';
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

const SQLITE_BUSY = 5;

/** What every error of the database becomes. */
export const unavailable = (what: string, error: unknown): ViewsUnavailable => {
  if (error instanceof ViewsUnavailable) return error;
  const { errcode, message = String(error) } = error as Partial<Error & { readonly errcode: number }>;
  const why =
    errcode === SQLITE_BUSY
      ? 'another process has it open. Give each gateway a file of its own (RUNLEDGER_VIEWS_FILE), or let them share MongoDB'
      : message;
  return new ViewsUnavailable(`${what}: SQLite failed (${why})`, { cause: error });
};

/** @throws {ViewsUnavailable} for every error of the database */
export const orUnavailable = <Result>(what: string, work: () => Result): Result => {
  try {
    return work();
  } catch (error) {
    throw unavailable(what, error);
  }
};

export const COLUMNS = Object.keys(COLUMN_TYPES) as Column[];

/** SQLite compares it with that of a query, word for word. Most runs have no webhook. */
export const conditionOf = (index: IndexName): string | undefined => {
  if (index === 'by_webhook_status' || index === 'by_webhook_host') return `${index.slice(3)} IS NOT NULL`;
  const { only }: Index = INDEXES[index];
  const [condition] = Object.entries(only ?? {});
  if (!condition) return undefined;
  const [field, is] = condition;
  return typeof is === 'object' ? `${field} > ${is.$gt}` : `${field} = '${is}'`;
};

/**
 * Runs that have not ended, by what they were queued with. One index for all of it: a workflow is looked up in it, and for a version,
 * a deployment or a machine that is to be deleted, which is rare, the organisation's part is read.
 */
export const LIVE_INDEX = 'run_views_live';
export const IS_LIVE = 'live_workflow_sha256 IS NOT NULL';

const createIndex = (name: string, columns: readonly string[], condition: string | undefined): string =>
  `CREATE INDEX IF NOT EXISTS ${name} ON run_views (${columns.join(', ')})${condition ? ` WHERE ${condition}` : ''}`;

const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS run_views (${COLUMNS.map((name) => `${name} ${COLUMN_TYPES[name]}`).join(', ')}) STRICT`,
  ...allIndexes()
    .filter(([name]) => name !== 'by_tags')
    .map(([name, { key }]) => createIndex(`run_views_${name}`, Object.keys(key), conditionOf(name))),
  createIndex(LIVE_INDEX, ['org_id', ...LIVE_FIELDS], IS_LIVE),
  ...SUMS_SCHEMA,
  ...TAGS_SCHEMA,
  ...TEXTS_SCHEMA,
  `CREATE TABLE IF NOT EXISTS projection
     (name TEXT PRIMARY KEY, stream_created TEXT NOT NULL, derivation INTEGER NOT NULL, sequence INTEGER NOT NULL,
      event_id TEXT, derived_from TEXT NOT NULL, counts TEXT NOT NULL, missed TEXT NOT NULL) STRICT`,
].join(';\n');
