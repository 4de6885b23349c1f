import type { Logger } from '@runledger/event-log/connect/observability';
import { codeOf } from '@runledger/resilience/errors';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, rmdir, open, stat } from 'node:fs/promises';
import { constants, lstatSync, opendirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Removes what a program left, whatever it is: folders that nobody may list, trees deeper than a path may be long, or a link, which is not
 * followed. It never rejects: what cannot be removed is logged, and stays. `rm` does the work, because Node reads all names of a tree into
 * memory, and goes by paths.
 */
export const removeTree = async (path: string, log: Logger): Promise<void> => {
  if (whatIsAt(path) === 'nothing' || (await isRemovedEmpty(path))) return;
  if (await succeeds('rm', ['-rf', '--', path], '/')) return;
  await allowOwner(path);
  if (await succeeds('rm', ['-rf', '--', path], '/')) return;
  log.warn({ path }, 'what a program left cannot be removed; it takes room until you remove it');
};

/** As a rule a folder is empty, or gone. */
const isRemovedEmpty = async (path: string): Promise<boolean> => {
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    return codeOf(error) === 'ENOENT';
  }
};

/** Gives the executor's user all rights in a folder of its own, and below. */
export const allowOwner = async (path: string): Promise<void> => {
  try {
    await using folder = await openFolder(path);
    await chmod(folder.path, 0o700);
    // Another process may not look at the descriptors of the executor: it gets the folder as its own.
    await succeeds('chmod', ['-R', 'u+rwX', '.'], '/proc/self/fd/3', folder.fd);
  } catch {
    // It is not ours, or no folder: `rm` reports it.
  }
};

const succeeds = async (
  command: string,
  args: readonly string[],
  cwd: string,
  descriptor?: number,
): Promise<boolean> => {
  try {
    const stdio = ['ignore', 'ignore', 'ignore', descriptor ?? 'ignore'] as const;
    const child = spawn(command, args, { cwd, stdio: [...stdio] });
    const [code] = await once(child, 'close');
    return code === 0;
  } catch {
    return false;
  }
};

/** Not in Node's constants: a handle that needs no permission to read. */
const O_PATH = 0o10000000;
const FLAGS = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

interface OpenFolder extends AsyncDisposable {
  readonly fd: number;
  /** Leads to the folder that was opened, also when something else has its name by now. */
  readonly path: string;
}

/** @throws when it is no folder, such as a link to one */
const openFolder = async (path: string): Promise<OpenFolder> => {
  const handle = await open(path, FLAGS);
  return {
    fd: handle.fd,
    path: `/proc/${process.pid}/fd/${handle.fd}`,
    [Symbol.asyncDispose]: () => handle.close(),
  };
};

/** Its mode until now. */
export const changeMode = async (path: string, mode: number): Promise<number> => {
  await using folder = await openFolder(path);
  const before = (await stat(folder.path)).mode & 0o7777;
  await chmod(folder.path, mode);
  return before;
};

// What is asked here for each run takes less in this thread than to hand it to another one.

/** What has a name: nothing, a folder without entries, or anything else, also what may not be looked at. No link is followed. */
export const whatIsAt = (path: string): 'nothing' | 'empty_folder' | 'other' => {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return 'nothing';
    return found.isDirectory() && entriesOf(path, 0) !== null ? 'empty_folder' : 'other';
  } catch {
    return 'other';
  }
};

/** Whether there is nothing below a folder but empty ones. False for more than a few. */
export const holdsNoFile = (path: string): boolean => {
  try {
    const names = entriesOf(path, MAX_FOLDERS);
    return names?.every((name) => whatIsAt(join(path, name)) === 'empty_folder') ?? false;
  } catch {
    return false;
  }
};

const MAX_FOLDERS = 16;

/** Null when there are more than so many. It does not read on: there may be very many. */
const entriesOf = (path: string, most: number): readonly string[] | null => {
  using folder = opendirSync(path);
  const names: string[] = [];
  for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
    if (names.length === most) return null;
    names.push(entry.name);
  }
  return names;
};
