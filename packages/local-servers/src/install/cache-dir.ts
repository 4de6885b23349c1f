import { constants } from 'node:fs';
import { access, lstat, mkdir } from 'node:fs/promises';
import { homedir, tmpdir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';

/**
 * The folder for what is downloaded once and used again: `RUNLEDGER_CACHE_DIR`, else `$XDG_CACHE_HOME/runledger`,
 * else `~/.cache/runledger`, else, where none of these can be written, a private folder under the temporary one.
 */
export const openCacheDir = async (env: NodeJS.ProcessEnv): Promise<string> => {
  const chosen = env['RUNLEDGER_CACHE_DIR'];
  if (chosen !== undefined && chosen !== '') {
    if (isAbsolute(chosen) && (await isWritableFolder(chosen))) return chosen;
    throw new Error(
      `RUNLEDGER_CACHE_DIR is ${chosen}, which is not an absolute path of a folder that this user can write. ` +
        'Name another folder, or unset it to use ~/.cache/runledger.',
    );
  }
  for (const folder of usualFolders(env)) {
    if (await isWritableFolder(folder)) return folder;
  }
  return privateTemporaryFolder();
};

const usualFolders = (env: NodeJS.ProcessEnv): string[] => {
  const xdg = env['XDG_CACHE_HOME'];
  const caches = xdg !== undefined && isAbsolute(xdg) ? [xdg] : [];
  return [...caches, join(env['HOME'] || homedir(), '.cache')].map((folder) => join(folder, 'runledger'));
};

const isWritableFolder = async (folder: string): Promise<boolean> => {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

// Programs are run from here, and everybody may write to the folder above: what another user made is refused.
const privateTemporaryFolder = async (): Promise<string> => {
  const { uid } = userInfo();
  const folder = join(tmpdir(), `runledger-cache-${uid}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const made = await lstat(folder);
  if (made.isDirectory() && made.uid === uid && (made.mode & 0o022) === 0) return folder;
  throw new Error(
    `${folder} exists, but it is not a folder that only this user can write. Set RUNLEDGER_CACHE_DIR to a folder of your own.`,
  );
};
