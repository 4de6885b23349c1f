import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ViewsUnavailable } from '../run-views.ts';
import { SCHEMA } from './schema.ts';

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
