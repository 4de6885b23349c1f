/** docs/settings.md from the configuration schema of every service, the standalone and the command line tool, and from the compose files. */
import { settingsSchema as cli } from '@runledger/cli/settings';
import { configSchema as gateway } from '@runledger/gateway/config';
import { configSchema as gpuExecutor } from '@runledger/gpu-executor/config';
import { configSchema as notifier } from '@runledger/notifier/config';
import { configSchema as scheduler } from '@runledger/scheduler/config';
import { describeConfig, type SettingRow } from '@runledger/service-kit/config';
import { settingsSchema as standalone } from '@runledger/standalone/settings';
import { composeVariables } from '../deploy/compose-variables.ts';

/** Of each program, by the title of its section. */
export const SCHEMAS = {
  gateway,
  scheduler,
  'gpu-executor': gpuExecutor,
  notifier,
  'npm start': standalone,
  runledger: cli,
};

/** Words instead of defaults that depend on the machine. */
const OF_THE_MACHINE: Readonly<Record<string, string>> = {
  EXECUTOR_NAME: 'the host name',
  EXECUTOR_WORK_DIR: 'in the temporary folder of the system',
};

const preset = ({ name, default: value, required }: SettingRow): string => {
  const described = OF_THE_MACHINE[name];
  if (described !== undefined && value !== undefined) return described;
  if (value === undefined) return required ? 'required' : '';
  return shown(value);
};

const shown = (value: string): string => (value === '' ? 'empty' : `\`${value}\``);

const line = (name: string, value: string, description: string): string =>
  `- \`${name}\`${value === '' ? '' : ` (${value})`}: ${description}`;

const section = ([title, schema]: [string, (typeof SCHEMAS)[keyof typeof SCHEMAS]]): string =>
  [
    `## ${title}`,
    '',
    ...describeConfig(schema).map((row) =>
      line(row.name, preset(row), `${row.description}${row.secret ? ' (secret)' : ''}`),
    ),
    '',
  ].join('\n');

const composeSection = (): string =>
  [
    '## docker compose',
    '',
    'From the environment of `docker compose`, or a file `.env` in the folder of docker-compose.yml. Every other setting of a container is',
    'a line of `environment` in a compose file of your own ([executor-images](../examples/executor-images/README.md)).',
    '',
    ...composeVariables().map(({ name, preset: value, description }) =>
      line(name, shown(value), description),
    ),
    '',
  ].join('\n');

export const settingsPage = (): string =>
  [
    '# Settings',
    '',
    'Generated from the code by `npm run docs`. A test compares it with the code.',
    '',
    'All settings are environment variables. At the start, a program reports all problems of its settings at once. A secret may',
    'also stand in a file that `<NAME>_FILE` names, with or without surrounding whitespace. Only one of the two may be set. The',
    'standalone passes variables that begin with `RUNLEDGER_` or `OTEL_` on to all services, except credentials, and those that begin',
    'with `EXECUTOR_` to the executor. A variable that nothing reads, with almost the name of a setting, is named in a warning.',
    'In brackets: what holds where a variable is not set.',
    '',
    ...Object.entries(SCHEMAS).map(section),
    composeSection(),
  ].join('\n');
