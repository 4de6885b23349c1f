import { Deployment, DeploymentPage, DeploymentReady } from '@runledger/contracts/http/catalogue/deployments';
import type { Command } from 'commander';
import { isUuid } from '@runledger/contracts/ids';
import { at, type ApiCall } from '../api/api-call.ts';
import { tableLines, type Column } from '../command/table.ts';
import type { Client, CommandContext } from '../command/command-context.ts';
import {
  deploymentSettingsOf,
  addDeploymentSettings,
  addRemovals,
  type DeploymentSettings,
} from './deployment-settings.ts';
import { addRecordCommands, addRecordList, namedKind, optionalId } from './named-records.ts';
import {
  firstRows,
  lastRows,
  changeRecord,
  createRecord,
  listRecords,
  pagesOf,
  type RecordListOptions,
  type SingleRecords,
} from './records.ts';
import { machines } from './machines.ts';
import { workflows, versionsOf } from './workflows.ts';
import { CommandError, plain } from '../command/command-error.ts';

export const deployments = namedKind<Deployment>({
  what: 'Deployment',
  path: '/deployments',
  readPage: pagesOf(DeploymentPage, (page) => page.deployments),
  send: (call, request) => call(Deployment, request),
  columns: [
    { title: 'ID', width: 36, of: ({ id }) => id },
    { title: 'GPU', width: 9, of: ({ gpu }) => gpu },
    { title: 'ENVIRONMENT', width: 12, of: ({ environment }) => environment },
    { title: 'VERSION', width: 36, of: ({ workflow_version_id }) => workflow_version_id },
    { title: 'NAME', width: 0, of: ({ name }) => name },
  ],
  rows: (deployment) => [
    ...firstRows(deployment),
    ['workflow', deployment.workflow_id],
    ['version', deployment.workflow_version_id],
    ['machine', deployment.machine_id],
    ['environment', deployment.environment],
    ['gpu', gpuWords(deployment.gpus)],
    ['labels', deployment.labels.join(', ') || 'none'],
    ['warm wait', `${deployment.warm_wait_s} s`],
    ['keep prepared', String(deployment.keep_prepared)],
    ['keep loaded', String(deployment.keep_loaded)],
    ['concurrency limit', deployment.concurrency_limit?.toString() ?? 'none'],
    ['weight', String(deployment.weight)],
    ['run timeout', `${deployment.run_timeout_s} s`],
    ['start deadline', `${deployment.start_deadline_s} s`],
    ['bounds', boundsWords(deployment.bounds)],
    ['attempts', String(deployment.retry.attempts)],
    ['retry on', deployment.retry.on?.join(', ') || 'loss of the executor'],
    ['if no output', deployment.if_no_output],
    ['log masks', deployment.log_masks?.join('  ') ?? 'none'],
    ...lastRows(deployment),
  ],
});

const gpuWords = (gpus: Deployment['gpus']): string =>
  gpus.map(({ gpu, after_s }) => (after_s > 0 ? `${gpu} after ${after_s} s` : gpu)).join(', ') ||
  "the machine's";

interface DeploymentOptions extends DeploymentSettings {
  readonly name?: string;
  readonly version?: string;
  readonly machine?: string;
  /** False with `--no-gpu`. */
  readonly gpu?: string | false;
}

/** The deployments of an organisation: what runs are queued on. */
export const addDeploymentCommands = (program: Command, parts: CommandContext): void => {
  const { withClient, add } = parts;
  const group = program
    .command('deployments')
    .description('workflow versions on machines, on which runs are queued');
  addRecordList(parts, group, { name: 'list', description: 'list deployments, newest first' })
    .option('--workflow <workflow>', 'of one workflow')
    .action(
      withClient(
        async (opened, { workflow, ...options }: RecordListOptions & { readonly workflow?: string }) => {
          const workflow_id = await optionalId(opened.call, workflows, workflow);
          await listRecords(opened, deployments, { ...options, filter: { workflow_id } });
        },
      ),
    );
  addRecordCommands(parts, group, deployments);
  addSettings(
    add(group, 'create', 'make a deployment')
      .requiredOption('--name <name>', 'for people')
      .requiredOption('--version <version>', 'the id of a workflow version, or WORKFLOW@NUMBER')
      .requiredOption('--machine <machine>', 'where it executes'),
  ).action(
    withClient(async (opened, options: DeploymentOptions) => {
      await createRecord(opened, deployments, await fieldsOf(opened.call, options));
    }),
  );
  add(
    group,
    'ready <deployment>',
    'say where its version is kept ready for runs, and how far that is',
  ).action(withClient(showReady));
  addRemovals(
    addSettings(
      add(group, 'update <deployment>', 'change a deployment; queued runs keep their settings')
        .option('--name <name>', 'for people')
        .option('--version <version>', 'the id of a workflow version, or WORKFLOW@NUMBER')
        .option('--machine <machine>', 'where it executes'),
    ),
  ).action(
    withClient(async (opened, given: string, options: DeploymentOptions) => {
      await changeRecord(opened, deployments, given, await fieldsOf(opened.call, options));
    }),
  );
};

interface ReadyRow {
  readonly executor: string;
  readonly slot: number | null;
  readonly state: string | null;
  readonly why: string | null;
}

const READY_COLUMNS: readonly Column<ReadyRow>[] = [
  { title: 'EXECUTOR', width: 24, of: ({ executor }) => executor },
  { title: 'SLOT', width: 4, of: ({ slot }) => (slot === null ? null : String(slot)) },
  { title: 'STATE', width: 10, of: ({ state }) => state ?? 'no response' },
  { title: 'WHY', width: 0, of: ({ why }) => why },
];

const showReady = async ({ call, screen }: Client, given: string): Promise<void> => {
  const id = await deployments.idOf(call, given);
  const ready = await call(DeploymentReady, { method: 'GET', path: at`/deployments/${id}/ready` });
  if (screen.isJson()) return screen.printJson(ready);
  const { keep_prepared, keep_loaded, executors } = ready;
  if (keep_prepared + keep_loaded === 0) {
    screen.print('Nothing is kept ready. Change that with --keep-prepared or --keep-loaded.');
    return;
  }
  const rows = executors.flatMap(({ executor, state, why, slots }): ReadyRow[] =>
    slots.length === 0
      ? [{ executor, slot: null, state, why }]
      : slots.map((slot) => ({ executor, ...slot })),
  );
  if (rows.length === 0)
    screen.print('No executor is there that could have it ready. See runledger executors list.');
  else for (const line of tableLines(screen, READY_COLUMNS, rows)) screen.print(line);
};

const addSettings = (command: Command): Command =>
  addDeploymentSettings(
    command.option('--gpu <model>', 'any model, such as RTX4090, for runs without --gpu'),
  );

const fieldsOf = async (call: ApiCall, { name, version, machine, gpu, ...settings }: DeploymentOptions) => ({
  name,
  workflow_version_id: await optionalId(call, versionReference, version),
  machine_id: await optionalId(call, machines, machine),
  gpu: gpu === false ? null : gpu,
  ...deploymentSettingsOf(settings),
});

const boundsWords = ({ min_priority, max_priority, max_delay_s }: Deployment['bounds']): string =>
  `priority from ${min_priority} to ${max_priority}${max_delay_s === null ? '' : `, delay up to ${max_delay_s} s`}`;

/** What stands for a version where its workflow is not known: its id, or `portrait@3` for version 3 of a workflow. */
const versionReference: Pick<SingleRecords<unknown>, 'idOf'> = {
  idOf: async (call, given) => {
    if (isUuid(given)) return given;
    const at = given.lastIndexOf('@');
    if (at < 1)
      throw new CommandError(
        `--version ${plain(given)} is neither the id of a version nor a workflow with a number, such as portrait@3.`,
      );
    const workflow = await workflows.idOf(call, given.slice(0, at));
    return versionsOf(workflow).idOf(call, given.slice(at + 1));
  },
};
