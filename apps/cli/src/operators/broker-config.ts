import { chmod, mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { brokerConfiguration } from '@runledger/broker-access/broker-configuration';
import { makeKeyFile } from '@runledger/standalone/keys';
import { replaceFile } from '@runledger/standalone/write-file';
import {
  configText,
  unusable,
  type ConfigFolder,
  type Plan,
  type PlannedUser,
} from './plan-broker-config.ts';
import { writeNodes } from './broker-nodes.ts';
import type { Screen } from '../command/screen.ts';
import { tableLines, type Column } from '../command/table.ts';

interface MadeUser {
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
const keyOf = async (key: PlannedUser['key'], file: string): Promise<{ readonly publicKey: string }> => {
  switch (key.kind) {
    case 'kept':
      return key.key;
    case 'new':
      return makeKeyFile(file);
    case 'rotated':
      return makeKeyFile(file, (await stat(file)).mode & 0o777);
  }
};

export const printBrokerConfig = (made: Made, screen: Screen): void => {
  const { folder, config, users, removed } = made;
  const columns: readonly Column<MadeUser>[] = [
    { title: 'USER', width: Math.max(...users.map(({ name }) => name.length)), of: ({ name }) => name },
    { title: 'KEY', width: 7, of: ({ key }) => key },
    { title: 'SEED', width: 0, of: ({ name }) => folder.shown(folder.keyFileOf(name)) },
  ];
  const result = {
    config_file: folder.configFile,
    config,
    users: users.map(({ name, key, publicKey }) => ({
      user: name,
      key,
      public_key: publicKey,
      seed_file: folder.keyFileOf(name),
    })),
    removed,
    nodes: made.nodes.map((name) => ({ name, folder: folder.nodeFolderOf(name) })),
  };
  screen.result(result, () => [
    `${folder.shown(folder.configFile)} ${CONFIG[config]}`,
    ...tableLines(screen, columns, users),
    ...(removed.length > 0 ? [`Removed, with their keys: ${removed.join(', ')}.`] : []),
  ]);
  for (const line of screen.isJson() ? [] : whatNext(made)) screen.hint(line);
};

const CONFIG: Readonly<Record<Made['config'], string>> = {
  made: 'is new: users and permissions of the broker, with public keys only.',
  changed: 'is changed: users and permissions of the broker, with public keys only.',
  unchanged: 'is unchanged.',
};

const whatNext = ({ folder, config, users, nodes }: Made): string[] => {
  if (config === 'unchanged') return ['Nothing needs to be done.'];
  // Absolute paths, because services run elsewhere.
  const seed = folder.keyFileOf;
  const executor = users.find(({ name }) => name.startsWith('executor-'))?.name;
  const rotated = users.filter(({ key }) => key === 'rotated').map(({ name }) => name);
  return [
    '',
    'What to do next:',
    ...(nodes.length > 0
      ? [
          `- nats-server: copy each of ${nodes.join(', ')} from ${folder.nodes} to its machine, and start nats-server --config nats.conf there.`,
          `  Keep ${join(folder.nodes, 'authority.key')} here, and a copy of it: it lets brokers into the cluster.`,
          '  Each needs an empty data folder. A broker that has a log deletes it when it joins: move it with runledger cluster migrate.',
          '  A running server',
        ]
      : [
          "- nats-server: put include './broker.conf' into its configuration (paths are relative to that file). A running server",
        ]),
    '  reads it again after nats-server --signal reload, or kill -HUP of its process. Do it twice, a second apart: permissions of',
    '  a new user hold after the second time. In a container that mounts the file: docker compose restart nats.',
    ...(rotated.length > 0
      ? [
          `  It accepts only the new keys then: give ${rotated.join(', ')} the new files, and restart what uses them.`,
        ]
      : []),
    '- each service: give it only the file of its own key, instead of NATS_USER and NATS_PASSWORD:',
    `    NATS_NKEY_FILE=${seed('gateway')}`,
    executor === undefined
      ? '- executors: none yet. Add each with: runledger broker-config --executor NAME'
      : `- each executor, with its name here: EXECUTOR_NAME=${executor.slice('executor-'.length)} NATS_NKEY_FILE=${seed(executor)}`,
    `- yourself: RUNLEDGER_NATS_NKEY_FILE=${seed('operator')} runledger provision`,
  ];
};
