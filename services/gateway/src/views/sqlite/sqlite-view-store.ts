import { existsSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isAt } from '../projection-start.decide.ts';
import { listAll } from '../read-lists.ts';
import { VIEW_VERSION } from '../stored-run.decide.ts';
import {
  ViewsUnavailable,
  type FormerViews,
  type NextSet,
  type SetBeside,
  type ViewStore,
  eachCall,
} from '../run-views.ts';
import { IN_MEMORY, orUnavailable, unavailable } from './database.ts';
import { sqliteReader } from './sqlite-reader.ts';
import { openSqliteRunViews, type SqliteSettings } from './sqlite-run-views.ts';

/**
 * Views in a file. The next set of them is in a file beside it, which another process may have open, and takes its place by its
 * name. @throws {ViewsUnavailable} when the file cannot be used
 */
export const openSqliteViewStore = (settings: SqliteSettings): ViewStore => {
  const { path, version = VIEW_VERSION } = settings;
  let live: ReturnType<typeof openSqliteRunViews> | undefined;
  const openLive = () => (live ??= openSqliteRunViews(settings));
  const closeLive = (): void => {
    live?.[Symbol.dispose]();
    live = undefined;
  };
  // Wrong settings fail here, at once.
  if (formerVersion(path, version) === undefined) openLive();
  const next = sqliteNextSet(settings);
  const replaceLive: NextSet['replaceLive'] = async (from, to) => {
    if (from && !isAt(await openLive().position(), from)) return false;
    if (!(await moveTo(await next.open(), to))) return false;
    // In one turn: whoever asks next finds the new set.
    closeLive();
    orUnavailable(`putting ${nextTo(path)} in its place`, () => putInPlace(path));
    openLive();
    return true;
  };
  return {
    shared: false,
    ...eachCall(async (use) => use(openLive())),
    moved: async () => openLive().moved?.(),
    next: { ...next, replaceLive },
    // What is open is of this version, and nobody can open it a second time.
    former: async () => (live ? undefined : formerViews(path, version)),
    // Its file was replaced.
    dropFormer: async () => [],
    [Symbol.asyncDispose]: async () => closeLive(),
  };
};

/** The next set, for a process that only builds it. */
export const sqliteNextSet = (settings: SqliteSettings): SetBeside => {
  const path = nextTo(settings.path);
  return {
    exists: async () => existsSync(path),
    open: async () => {
      if (settings.path === IN_MEMORY)
        throw new ViewsUnavailable(
          'views that are kept in memory cannot be built again beside: set RUNLEDGER_VIEWS_FILE to a file',
        );
      // Another version began with it.
      if (versionOf(path) !== (settings.version ?? VIEW_VERSION)) removeFile(path);
      return openSqliteRunViews({ ...settings, path });
    },
    remove: async () => orUnavailable(`removing ${path}`, () => removeFile(path)),
  };
};

const nextTo = (path: string): string => `${path}.next`;
const logOf = (path: string): string => `${path}-wal`;

/** Moves the position, and closes them. */
const moveTo = async (
  views: Awaited<ReturnType<NextSet['open']>>,
  to: Parameters<NextSet['replaceLive']>[1],
): Promise<boolean> => {
  try {
    const at = await views.position();
    return at !== undefined && (await views.advance([], at, to));
  } finally {
    await views[Symbol.asyncDispose]();
  }
};

/** Both files are closed, and complete without SQLite's other files. */
const putInPlace = (path: string): void => {
  if (existsSync(logOf(nextTo(path)))) throw new Error('it was not written as a whole; is the disk full?');
  // What the former file had not taken over from it goes with that file. SQLite would give it to the next one.
  rmSync(logOf(path), { force: true });
  renameSync(nextTo(path), path);
};

const removeFile = (path: string): void => {
  for (const file of [path, logOf(path), `${path}-shm`]) rmSync(file, { force: true });
};

/** Undefined without a file that has views. */
const versionOf = (path: string): number | undefined => {
  if (path === IN_MEMORY || !existsSync(path)) return undefined;
  const found = orUnavailable(`opening ${path}`, () => {
    using database = new DatabaseSync(path);
    return Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  });
  return found === 0 ? undefined : found;
};

/** A later version may say what this one does not understand: then opening the file fails. */
const formerVersion = (path: string, own: number): number | undefined => {
  const version = versionOf(path);
  return version !== undefined && version < own ? version : undefined;
};

const formerViews = (path: string, own: number): FormerViews | undefined => {
  const version = formerVersion(path, own);
  if (version === undefined) return undefined;
  const what = `reading the views of version ${version} in ${path}`;
  const database = orUnavailable(what, () => {
    const opened = new DatabaseSync(path);
    // Nobody else keeps them up meanwhile.
    opened.exec('PRAGMA locking_mode = EXCLUSIVE');
    return opened;
  });
  const list = listAll(sqliteReader(database));
  return {
    version,
    listAll: (query) => list(query).catch((error: unknown) => Promise.reject(unavailable(what, error))),
    [Symbol.asyncDispose]: async () => database.close(),
  };
};
