import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { newUserKey, publicKeyOf, InvalidSeed, type UserKey } from '@runledger/event-log/connect/user-key';
import { replaceFile, THIS_USER_ALONE } from '../data-folder/write-file.ts';

/** Seed files have this ending, as those of other tools for NATS. */
export const KEY_FILE_ENDING = '.nk';
const MOST_BYTES = 1_024;

/** Where the seed of a user of the broker stands: what `NATS_NKEY_FILE` of its service names. */
export const keyFileOf = (folder: string, user: string): string => join(folder, `${user}${KEY_FILE_ENDING}`);

export type KeptKey =
  | { readonly kind: 'found'; readonly key: UserKey }
  | { readonly kind: 'missing' }
  /** `why` tells nothing of what is in the file. */
  | { readonly kind: 'unusable'; readonly why: string };

export const readKeyFile = async (path: string): Promise<KeptKey> => {
  try {
    const file = await stat(path);
    if (!file.isFile()) return { kind: 'unusable', why: 'it is not a file' };
    if (file.size > MOST_BYTES) return { kind: 'unusable', why: 'it is larger than a seed' };
    const seed = (await readFile(path, 'utf8')).trim();
    return { kind: 'found', key: { seed, publicKey: publicKeyOf(seed) } };
  } catch (error) {
    if (error instanceof InvalidSeed) return { kind: 'unusable', why: 'it holds no seed of a user' };
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { kind: 'missing' };
    return { kind: 'unusable', why: error instanceof Error ? error.message : String(error) };
  }
};

/** A new key, in place of the one that the file may hold. Only this user may read it, unless another mode is given. */
export const makeKeyFile = async (path: string, mode = THIS_USER_ALONE): Promise<UserKey> => {
  const key = newUserKey();
  await replaceFile(path, `${key.seed}\n`, mode);
  return key;
};
