import { chmod, mkdir, rm } from 'node:fs/promises';
import { brokerConfiguration } from '@runledger/event-log/access/broker-configuration';
import { makeKeyFile } from '@runledger/standalone/key-files';
import { replaceFile } from '@runledger/standalone/write-file';
import { configText, unusable, type ConfigFolder } from './config-folder.ts';
import type { Plan, PlannedUser } from './plan-users.ts';

export interface MadeUser {
  readonly name: string;
  readonly key: PlannedUser['key']['kind'];
  readonly publicKey: string;
}

export interface Made {
  readonly folder: ConfigFolder;
  readonly config: 'made' | 'changed' | 'unchanged';
  readonly users: readonly MadeUser[];
  readonly removed: readonly string[];
}

/** nats-server runs as another user, and there are public keys alone in it. */
const FOR_ALL = 0o644;

/**
 * Keys come first and the configuration, which names them, after: whatever comes in between, the same command makes it
 * whole. @throws Explained
 */
export const makeBrokerConfig = async ({ folder, text, users, removed }: Plan): Promise<Made> => {
  try {
    await mkdir(folder.keys, { recursive: true });
    await chmod(folder.keys, 0o700);
    const made = [];
    for (const { user, key } of users) {
      const { publicKey } = key.kind === 'kept' ? key.key : await makeKeyFile(folder.keyFileOf(user.name));
      made.push({ user, publicKey, key: key.kind });
    }
    const next = configText(brokerConfiguration(made));
    if (next !== text) await replaceFile(folder.configFile, next, FOR_ALL);
    for (const name of removed) await rm(folder.keyFileOf(`executor-${name}`), { force: true });
    return {
      folder,
      config: next === text ? 'unchanged' : text === undefined ? 'made' : 'changed',
      users: made.map(({ user, publicKey, key }) => ({ name: user.name, key, publicKey })),
      removed,
    };
  } catch (error) {
    if (error instanceof Error && 'code' in error) throw unusable(folder, error);
    throw error;
  }
};
