import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { newUserKey, publicKeyOf, InvalidSeed, type UserKey } from '@runledger/event-log/connect/user-key';
import { replaceFile, OWNER_ONLY } from '../data-folder/write-file.ts';

/** Seed files have this ending, as with other NATS tools. */
export const KEY_FILE_ENDING = '.nk';
const MAX_SEED_FILE_BYTES = 1_024;

/** The file with the seed of a user of the broker: the `NATS_NKEY_FILE` of its service. */
export const keyFileOf = (folder: string, user: string): string => join(folder, `${user}${KEY_FILE_ENDING}`);

export type KeyFile =
  | { readonly kind: 'found'; readonly key: UserKey }
  | { readonly kind: 'missing' }
  /** `why` does not quote the file. */
  | { readonly kind: 'unusable'; readonly why: string };

export const readKeyFile = async (path: string): Promise<KeyFile> => {
  try {
    const file = await stat(path);
    if (!file.isFile()) return { kind: 'unusable', why: 'it is not a file' };
    if (file.size > MAX_SEED_FILE_BYTES) return { kind: 'unusable', why: 'it is larger than a seed' };
    const seed = (await readFile(path, 'utf8')).trim();
    return { kind: 'found', key: { seed, publicKey: publicKeyOf(seed) } };
  } catch (error) {
    if (error instanceof InvalidSeed) return { kind: 'unusable', why: 'it holds no seed of a user' };
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { kind: 'missing' };
    return { kind: 'unusable', why: error instanceof Error ? error.message : String(error) };
  }
};

/** Writes a new key, and replaces the file if it exists. By default, only its owner may read it. */
export const makeKeyFile = async (path: string, mode = OWNER_ONLY): Promise<UserKey> => {
  const key = newUserKey();
  await replaceFile(path, `${key.seed}\n`, mode);
  return key;
};
