import { join } from 'node:path';
import type { Screen } from '../../output/screen.ts';
import { printTable, type Column } from '../../output/table.ts';
import type { Made, MadeUser } from './make-broker-config.ts';

export const printBrokerConfig = (made: Made, screen: Screen, json: boolean): void => {
  const { folder, config, users, removed } = made;
  if (json) {
    screen.printJson({
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
    });
    return;
  }
  screen.print(`${folder.shown(folder.configFile)} ${CONFIG[config]}`);
  const columns: readonly Column<MadeUser>[] = [
    { title: 'USER', width: Math.max(...users.map(({ name }) => name.length)), of: ({ name }) => name },
    { title: 'KEY', width: 7, of: ({ key }) => key },
    { title: 'SEED', width: 0, of: ({ name }) => folder.shown(folder.keyFileOf(name)) },
  ];
  printTable(screen, columns, { items: users, json: false });
  if (removed.length > 0) screen.print(`Removed, with their keys: ${removed.join(', ')}.`);
  for (const line of whatNext(made)) screen.hint(line);
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
