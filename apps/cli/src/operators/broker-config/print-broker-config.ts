import type { Screen } from '../../output/screen.ts';
import { headLine, rowLine, type Column } from '../../output/table.ts';
import type { Made, MadeUser } from './make-broker-config.ts';

export const tellBrokerConfig = (made: Made, screen: Screen, json: boolean): void => {
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
    });
    return;
  }
  screen.print(`${folder.shown(folder.configFile)} ${CONFIG[config]}`);
  const columns: readonly Column<MadeUser>[] = [
    { title: 'USER', width: Math.max(...users.map(({ name }) => name.length)), of: ({ name }) => name },
    { title: 'KEY', width: 7, of: ({ key }) => key },
    { title: 'SEED', width: 0, of: ({ name }) => folder.shown(folder.keyFileOf(name)) },
  ];
  screen.print(headLine(columns));
  for (const user of users) screen.print(rowLine(columns, user));
  if (removed.length > 0) screen.print(`Removed, with their keys: ${removed.join(', ')}.`);
  for (const line of whatNext(made)) screen.hint(line);
};

const CONFIG: Readonly<Record<Made['config'], string>> = {
  made: 'is made: who may do what at the broker, with public keys alone.',
  changed: 'is made anew: who may do what at the broker, with public keys alone.',
  unchanged: 'is as it was.',
};

const whatNext = ({ folder, config, users }: Made): string[] => {
  if (config === 'unchanged') return ['There is nothing to do.'];
  // In full: services run elsewhere.
  const seed = folder.keyFileOf;
  const executor = users.find(({ name }) => name.startsWith('executor-'))?.name;
  const rotated = users.filter(({ key }) => key === 'rotated').map(({ name }) => name);
  return [
    '',
    'What to do next:',
    "- nats-server: have include './broker.conf' in its configuration (it takes every path from that file on). One that runs",
    '  reads it anew with nats-server --signal reload, or kill -HUP of its process. Do it twice, a second apart: what a new user',
    '  may do holds from the second time on. In a container that has the file mounted: docker compose restart nats.',
    ...(rotated.length > 0
      ? [
          `  It takes the new key alone from then on: give ${rotated.join(', ')} the new file, and start what uses it anew.`,
        ]
      : []),
    '- each service: give it the file of its own key and no other, in place of NATS_USER and NATS_PASSWORD:',
    `    NATS_NKEY_FILE=${seed('gateway')}`,
    executor === undefined
      ? '- executors: none is let in yet. Name each: runledger broker-config --executor NAME'
      : `- each executor, by the name that it has here: EXECUTOR_NAME=${executor.slice('executor-'.length)} NATS_NKEY_FILE=${seed(executor)}`,
    `- yourself: RUNLEDGER_NATS_NKEY_FILE=${seed('operator')} runledger provision`,
  ];
};
