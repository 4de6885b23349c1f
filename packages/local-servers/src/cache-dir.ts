import { constants } from 'node:fs';
import { access, lstat, mkdir } from 'node:fs/promises';
import { homedir, tmpdir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { Type, type Static } from 'typebox';
import { readConfig, type Environment } from '@runledger/service-kit/config';

/** The environment variables of this package: to spread into the schema of a program that starts servers. */
export const localServerSettings = {
  NATS_SERVER_BIN: Type.Optional(
    Type.String({ description: 'the nats-server to start, instead of the one on PATH or a download' }),
  ),
  NATS_SERVER_SHA256: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'in hex: a nats-server of NATS_SERVER_BIN or PATH with another SHA-256 is not started',
    }),
  ),
  RUNLEDGER_CACHE_DIR: Type.Optional(
    Type.String({ description: 'an absolute path: where downloads are kept; ~/.cache/runledger otherwise' }),
  ),
};

const settingsSchema = Type.Object({
  RUNLEDGER_CACHE_DIR: localServerSettings.RUNLEDGER_CACHE_DIR,
  XDG_CACHE_HOME: Type.Optional(Type.String({ description: 'the folder for caches of this user' })),
  HOME: Type.String({ default: homedir(), description: 'the home of this user' }),
});

/**
 * The folder for downloads: `RUNLEDGER_CACHE_DIR`, else `$XDG_CACHE_HOME/runledger`, else `~/.cache/runledger`. If this user
 * can write to neither of the last two, a private folder in the temporary folder of the system.
 */
export const openCacheDir = async (env: Environment): Promise<string> => {
  const settings = readConfig(settingsSchema, env);
  const { RUNLEDGER_CACHE_DIR: chosen } = settings;
  if (chosen !== undefined) {
    if (isAbsolute(chosen) && (await isWritableFolder(chosen))) return chosen;
    throw new Error(
      `RUNLEDGER_CACHE_DIR is ${chosen}, which is not the absolute path of a folder that this user can write to. ` +
        'Name another folder, or unset it to use ~/.cache/runledger.',
    );
  }
  for (const folder of usualFolders(settings)) {
    if (await isWritableFolder(folder)) return folder;
  }
  return privateTemporaryFolder();
};

const usualFolders = ({ XDG_CACHE_HOME, HOME }: Static<typeof settingsSchema>): string[] => {
  const caches = XDG_CACHE_HOME !== undefined && isAbsolute(XDG_CACHE_HOME) ? [XDG_CACHE_HOME] : [];
  return [...caches, join(HOME, '.cache')].map((folder) => join(folder, 'runledger'));
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

// Programs are started from here, and every user can write to its parent folder: a folder of another user is refused.
const privateTemporaryFolder = async (): Promise<string> => {
  const { uid } = userInfo();
  const folder = join(tmpdir(), `runledger-cache-${uid}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const made = await lstat(folder);
  if (made.isDirectory() && made.uid === uid && (made.mode & 0o022) === 0) return folder;
  throw new Error(
    `${folder} exists, but it is not a folder that only this user can write to. Set RUNLEDGER_CACHE_DIR to a folder of your own.`,
  );
};
