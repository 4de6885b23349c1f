import { chmod, mkdir, rm, stat } from 'node:fs/promises';
import { brokerConfiguration } from '@runledger/broker-access/broker-configuration';
import type { UserKey } from '@runledger/event-log/connect/user-key';
import { makeKeyFile } from '@runledger/standalone/keys';
import { replaceFile } from '@runledger/standalone/write-file';
import { configText, unusable, type ConfigFolder } from './config-folder.ts';
import { writeNodes } from './write-nodes.ts';
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
  /** The names of the brokers of a cluster; none for a single broker. */
  readonly nodes: readonly string[];
}

/** nats-server runs as another user, and the file holds only public keys. */
const FOR_ALL = 0o644;

/**
 * Writes the keys first and then the configuration that names them. After an interruption, the same command completes both. @throws CommandError
 */
export const makeBrokerConfig = async (plan: Plan, now: Date): Promise<Made> => {
  const { folder, text, users, removed, nodes } = plan;
  try {
    await mkdir(folder.keys, { recursive: true });
    await chmod(folder.keys, 0o700);
    const made = [];
    for (const { user, key } of users) {
      const { publicKey } = await keyOf(key, folder.keyFileOf(user.name));
      made.push({ user, publicKey, key: key.kind });
    }
    const next = configText(brokerConfiguration(made));
    if (next !== text) await replaceFile(folder.configFile, next, FOR_ALL);
    const nodesChanged = await writeNodes(folder, nodes, next, now);
    const isUnchanged = next === text && !nodesChanged;
    for (const name of removed) await rm(folder.keyFileOf(`executor-${name}`), { force: true });
    return {
      folder,
      config: isUnchanged ? 'unchanged' : text === undefined ? 'made' : 'changed',
      users: made.map(({ user, publicKey, key }) => ({ name: user.name, key, publicKey })),
      removed,
      nodes: nodes.names,
    };
  } catch (error) {
    if (error instanceof Error && 'code' in error) throw unusable(folder, error);
    throw error;
  }
};

/** The new file keeps the mode of the old one, so that the same users can read it, such as the user of a container. */
const keyOf = async (key: PlannedUser['key'], file: string): Promise<Pick<UserKey, 'publicKey'>> => {
  switch (key.kind) {
    case 'kept':
      return key.key;
    case 'new':
      return makeKeyFile(file);
    case 'rotated':
      return makeKeyFile(file, (await stat(file)).mode & 0o777);
  }
};
