import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { chmod, open, rmdir } from 'node:fs/promises';

/** Not in Node's constants: a handle that needs no permission to read. */
const O_PATH = 0o10000000;

/**
 * Removes what a program left, whatever it is: folders that nobody may list, trees deeper than a path may be long, or a link, which is not
 * followed. It never rejects: what cannot be removed is logged, and stays. `rm` does the work, because Node reads all names of a tree into
 * memory, and goes by paths.
 */
export const removeTree = async (
  path: string,
  log: { warn(fields: object, message: string): void },
): Promise<void> => {
  if (await isRemovedEmpty(path)) return;
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

/** Gives the executor's user all rights in a folder of its own. */
const allowOwner = async (path: string): Promise<void> => {
  const flags = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  try {
    // By the handle, so that nothing can put a link in the folder's place meanwhile.
    await using folder = await open(path, flags);
    const opened = `/proc/${process.pid}/fd/${folder.fd}`;
    await chmod(opened, 0o700);
    await succeeds('chmod', ['-R', 'u+rwX', '.'], opened);
  } catch {
    // It is not ours, or no folder: `rm` reports it.
  }
};

const succeeds = async (command: string, args: readonly string[], cwd: string): Promise<boolean> => {
  try {
    const child = spawn(command, args, { cwd, stdio: 'ignore' });
    const [code] = await once(child, 'close');
    return code === 0;
  } catch {
    return false;
  }
};
