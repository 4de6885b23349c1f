import type { Logger } from '@runledger/event-log/connect/observability';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isJsonObject, parsePlainJson } from '@runledger/contracts/json';
import { giveTo, type User } from '../isolation/users.ts';
import { removeTree } from './remove-tree.ts';

/** Whose a cache is: no process of anybody else ever has it. */
export interface CacheOwner {
  /** `EVERYBODY` for a process that is shared; null for one that no organisation has had a run in. */
  readonly org_id: string | null;
  /** What of the organisation: a deployment, or a process that is kept between runs. */
  readonly of: string;
}

/** No organisation has this id. */
export const EVERYBODY = '*';

/** A cache on disk. Its owner and its time are where no program may write. */
export interface CacheFolder {
  /** What its processes see. */
  readonly folder: string;
  readonly owner: CacheOwner;
  /** Whom the files belong to. */
  readonly user: User;
  readonly lastUsed: number;
}

const [CACHES, FILES, OWNER] = ['caches', 'files', 'owner.json'];
/** A start of the executor removes what has this prefix. */
const REMOVED = 'tmp-cache-';

/** What is there after a start, and what of it is nobody's. */
export const readCacheFolders = (
  workFolder: string,
): { readonly found: readonly CacheFolder[]; readonly broken: readonly string[] } => {
  const all = join(workFolder, CACHES);
  const read = (existsSync(all) ? readdirSync(all) : []).map((id) => readFolder(join(all, id)));
  return {
    found: read.filter((each) => typeof each !== 'string'),
    broken: read.filter((each) => typeof each === 'string'),
  };
};

const readFolder = (path: string): CacheFolder | string => {
  const folder = join(path, FILES);
  try {
    const owner = parseOwner(readFileSync(join(path, OWNER), 'utf8'));
    const { uid, gid } = lstatSync(folder);
    return owner === null ? folder : { folder, owner, user: { uid, gid }, lastUsed: lstatSync(path).mtimeMs };
  } catch {
    return folder;
  }
};

const parseOwner = (text: string): CacheOwner | null => {
  const value = parsePlainJson(text);
  return isJsonObject(value) && typeof value.org_id === 'string' && typeof value.of === 'string'
    ? { org_id: value.org_id, of: value.of }
    : null;
};

/** `user`: null for that of the executor. */
export const makeCacheFolder = (workFolder: string, owner: CacheOwner, user: User | null): string => {
  const path = join(workFolder, CACHES, randomUUID());
  const folder = join(path, FILES);
  mkdirSync(path, { recursive: true });
  // Whatever the umask of the executor is.
  for (const each of [dirname(path), path]) chmodSync(each, ENTERABLE);
  mkdirSync(folder, { mode: 0o700 });
  if (user !== null) giveTo(user, folder);
  writeOwner(folder, owner);
  return folder;
};

export const writeOwner = (folder: string, owner: CacheOwner): void =>
  writeFileSync(join(folder, '..', OWNER), JSON.stringify(owner), { mode: 0o600 });

/** Keeps when it was used, for the next executor on this work folder. */
export const noteUse = (folder: string, time: number): void => {
  try {
    utimesSync(join(folder, '..'), time / 1_000, time / 1_000);
  } catch {
    // Somebody has removed it by hand: then there is nothing to keep.
  }
};

/** At once it is nobody's, also when the executor is killed meanwhile. */
export const removeCacheFolder = async (workFolder: string, folder: string, log: Logger): Promise<void> => {
  const removed = join(workFolder, `${REMOVED}${randomUUID()}`);
  try {
    renameSync(join(folder, '..'), removed);
  } catch {
    // Somebody else has removed it.
    return;
  }
  await removeTree(removed, log);
};

/** Its processes get to their folder, and list nothing above it. */
const ENTERABLE = 0o711;
