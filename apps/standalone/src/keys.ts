import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { newUserKey, publicKeyOf, InvalidSeed, type UserKey } from '@runledger/event-log/connect/user-key';
import { secretKeysConfig } from '@runledger/webhooks/secret-box';
import { Type } from 'typebox';
import {
  debuggerUser,
  executorUser,
  operatorUser,
  serviceUser,
  type BrokerUser,
} from '@runledger/broker-access/broker-user';
import { contract as gateway } from '@runledger/gateway/contract';
import { contract as gpuExecutor } from '@runledger/gpu-executor/contract';
import { contract as notifier } from '@runledger/notifier/contract';
import { contract as scheduler } from '@runledger/scheduler/contract';
import { HEALTH_TOKEN_PATTERN } from '@runledger/service-kit/health-token';
import { codeOf, messageOf } from '@runledger/resilience/errors';
import { replaceFile, OWNER_ONLY, writePrivateFile } from './data-folder/write-file.ts';
import { StartRefused } from './settings.ts';
import { readJsonFile } from './data-folder/connection-files.ts';
import type { DataFolder } from './data-folder/data-folder.ts';

/** Seed files have this ending, as with other NATS tools. */
export const KEY_FILE_ENDING = '.nk';
const MAX_SEED_FILE_BYTES = 1_024;

/** The file with the seed of a user of the broker: the `NATS_NKEY_FILE` of its service. */
export const keyFileOf = (folder: string, user: string): string => join(folder, `${user}${KEY_FILE_ENDING}`);

type KeyFile =
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
    if (codeOf(error) === 'ENOENT') return { kind: 'missing' };
    return { kind: 'unusable', why: messageOf(error) };
  }
};

/** Writes a new key, and replaces the file if it exists. By default, only its owner may read it. */
export const makeKeyFile = async (path: string, mode = OWNER_ONLY): Promise<UserKey> => {
  const key = newUserKey();
  await replaceFile(path, `${key.seed}\n`, mode);
  return key;
};

const FILE = 'secret-keys.json';
const SecretKeys = Type.Object({ keys: secretKeysConfig.RUNLEDGER_SECRET_KEYS });

/**
 * The keys that encrypt the signing secrets in the log: the given ones, else a key that the first start makes. That key
 * is kept, and still decrypts old secrets if other keys are given later.
 */
export const openSecretKeys = async (
  folder: DataFolder,
  given: readonly string[] = [],
): Promise<readonly string[]> => {
  const file = await readJsonFile(folder.at(FILE), SecretKeys);
  switch (file.kind) {
    case 'found':
      return [...given, ...file.content.keys];
    case 'unusable':
      throw new StartRefused(
        `${file.path} cannot be used: ${file.why}. Restore it from a copy. Without it, the signing secrets of webhooks cannot be decrypted.`,
      );
    case 'missing': {
      if (given.length > 0) return given;
      const keys = [randomBytes(32).toString('base64')];
      await writePrivateFile(folder.at(FILE), `${JSON.stringify({ keys })}\n`);
      return keys;
    }
  }
};

/**
 * All users of a broker with executors of these names.
 * @throws TypeError for a name that is not a valid token of a subject
 */
export const brokerUsers = (executors: readonly string[]): BrokerUser[] => [
  ...[gateway, scheduler, notifier].map(serviceUser),
  ...executors.map((name) => executorUser(gpuExecutor, name)),
  debuggerUser(),
  operatorUser(),
];

/** The file in the data folder. Only its owner may read it. */
export const HEALTH_TOKEN_FILE = 'health-token';

/**
 * What shows the metrics of the services to whoever names it: the given token, else that of an earlier start, else a new one. It is in its
 * file from then on. @throws StartRefused
 */
export const openHealthToken = async (folder: DataFolder, given?: string): Promise<string> => {
  const file = folder.at(HEALTH_TOKEN_FILE);
  const kept = given === undefined ? await readSecretFile(file) : undefined;
  if (kept !== undefined && !new RegExp(HEALTH_TOKEN_PATTERN).test(kept))
    throw new StartRefused(
      `${file} holds no token. Remove it, and this start makes a new one; then give that to whatever reads the metrics.`,
    );
  if (kept !== undefined) return kept;
  const token = given ?? randomBytes(32).toString('base64url');
  await writePrivateFile(file, `${token}\n`);
  return token;
};

/** What the file holds, without the blanks around it; undefined if there is none. @throws the system's error */
export const readSecretFile = async (path: string): Promise<string | undefined> => {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
};
