/** docs/settings.md from the configuration schema of every service, the standalone and the command line tool. */
import { settingsSchema as cli } from '@runledger/cli/settings';
import { configSchema as gateway } from '@runledger/gateway/config';
import { configSchema as gpuExecutor } from '@runledger/gpu-executor/config';
import { configSchema as notifier } from '@runledger/notifier/config';
import { configSchema as scheduler } from '@runledger/scheduler/config';
import { describeConfig, type SettingRow } from '@runledger/service-kit/config/config';
import { settingsSchema as standalone } from '@runledger/standalone/settings/settings';

const SCHEMAS = {
  gateway,
  scheduler,
  'gpu-executor': gpuExecutor,
  notifier,
  'npm start': standalone,
  runledger: cli,
};

const cell = (text: string): string => text.replaceAll('|', String.raw`\|`);

/** What depends on the machine says nothing on a page. */
const OF_THE_MACHINE: Readonly<Record<string, string>> = {
  EXECUTOR_NAME: 'the host name',
  EXECUTOR_WORK_DIR: 'in the temporary folder of the system',
};

const preset = ({ name, default: value, required }: SettingRow): string => {
  const described = OF_THE_MACHINE[name];
  if (described !== undefined && value !== undefined) return described;
  if (value === undefined) return required ? 'required' : '';
  return `\`${cell(value)}\``;
};

const section = ([title, schema]: [string, (typeof SCHEMAS)[keyof typeof SCHEMAS]]): string =>
  [
    `## ${title}`,
    '',
    '| variable | default | |',
    '|---|---|---|',
    ...describeConfig(schema).map(
      (row) =>
        `| \`${row.name}\` | ${preset(row)} | ${cell(row.description)}${row.secret ? ' (secret)' : ''} |`,
    ),
    '',
  ].join('\n');

export const settingsPage = (): string =>
  [
    '# Settings',
    '',
    'Made from the code by `npm run docs`; a test holds the two together.',
    '',
    'All settings are environment variables. Everything that is wrong with them is said at once at the start. What is marked as',
    'secret may also stand in a file that `<NAME>_FILE` names: its text without the blanks around it. Only one of the two may be',
    'set. The standalone passes what begins with `RUNLEDGER_` or `OTEL_` on to all services, but for credentials, and what begins',
    'with `EXECUTOR_` to the executor.',
    '',
    ...Object.entries(SCHEMAS).map(section),
  ].join('\n');
