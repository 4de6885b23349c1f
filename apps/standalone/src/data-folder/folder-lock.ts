import { closeSync, existsSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { Type, type Static } from 'typebox';
import { readJsonFile } from './connection-files.ts';
import { identityOf, isRunning } from './process-identity.ts';
import { OWNER_ONLY, writePrivateFile } from './write-file.ts';

const Holder = Type.Object({
  pid: Type.Integer({ minimum: 1 }),
  start_ticks: Type.Number(),
  boot_id: Type.String(),
  since: Type.String(),
  /** Where the standalone listens, once it does. */
  url: Type.Optional(Type.String()),
});
export type Holder = Static<typeof Holder>;

interface FolderLock extends AsyncDisposable {
  /** Lets others see where the holder listens. */
  readonly publishUrl: (url: string) => Promise<void>;
}

export interface LockFiles {
  /** Stays; whether it is locked is known to the kernel alone, which unlocks it when its process ends, however it ends. */
  readonly lock: string;
  /** What the process that holds the lock says of itself. */
  readonly holder: string;
}

export type Locked =
  | { readonly kind: 'locked'; readonly lock: FolderLock }
  /** Undefined when the holder has not said who it is. */
  | { readonly kind: 'held'; readonly by: Holder | undefined };

/** Takes the lock for this process, if no other one holds it. @throws Error for a failure of the file system */
export const takeLock = async (files: LockFiles, now: () => Date): Promise<Locked> => {
  const locked = lockFile(files.lock);
  if (!locked) return { kind: 'held', by: await readHolder(files.holder) };
  try {
    const identity = await identityOf(process.pid);
    if (identity === undefined) throw new Error('The lock needs /proc, which does not list this process.');
    const holder: Holder = { ...identity, since: now().toISOString() };
    const write = (shown: Holder): Promise<void> =>
      writePrivateFile(files.holder, `${JSON.stringify(shown)}\n`);
    await write(holder);
    return {
      kind: 'locked',
      lock: {
        publishUrl: (url) => write({ ...holder, url }),
        [Symbol.asyncDispose]: async () => {
          await rm(files.holder, { force: true });
          unlock(locked);
        },
      },
    };
  } catch (error) {
    unlock(locked);
    throw error;
  }
};

const SQLITE_BUSY = 5;
/** The garbage collector closes a database that nothing refers to, and its lock goes with it. */
const locks = new Set<DatabaseSync>();

/** Node cannot lock a file, and SQLite can: an exclusive transaction on an empty database. Undefined when another one has it. */
const lockFile = (path: string): DatabaseSync | undefined => {
  makeFile(path);
  const database = new DatabaseSync(path);
  try {
    // Without a file for the journal of a transaction that never writes.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    locks.add(database);
    return database;
  } catch (error) {
    database.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
};

const unlock = (database: DatabaseSync): void => {
  locks.delete(database);
  database.close();
};

/** SQLite gives a new file to all users. One that is there is left alone: closing it would unlock it, if this process had it locked. */
const makeFile = (path: string): void => {
  if (!existsSync(path)) closeSync(openSync(path, 'a', OWNER_ONLY));
};

/** The file may be that of an earlier holder, which was killed. */
const readHolder = async (path: string): Promise<Holder | undefined> => {
  const read = await readJsonFile(path, Holder);
  return read.kind === 'found' && (await isRunning(read.content)) ? read.content : undefined;
};
