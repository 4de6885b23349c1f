import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, rmdir } from 'node:fs/promises';
import { whatIsAt } from './empty-folder.ts';
import { openFolder } from './open-folder.ts';

/**
 * Removes what a program left, whatever it is: folders that nobody may list, trees deeper than a path may be long, or a link, which is not
 * followed. It never rejects: what cannot be removed is logged, and stays. `rm` does the work, because Node reads all names of a tree into
 * memory, and goes by paths.
 */
export const removeTree = async (
  path: string,
  log: { warn(fields: object, message: string): void },
): Promise<void> => {
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
    return error instanceof Error && 'code' in error && error.code === 'ENOENT';
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
