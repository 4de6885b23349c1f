import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { WorkflowVersion } from '@runledger/contracts/http/catalogue/workflows';
import type { Deployment } from '@runledger/contracts/http/catalogue/deployments';
import { addRunnerOptions, gpuOption } from './machines.ts';
import { addDeploymentSettings, changedSettings } from './deployment-settings.ts';
import type { CommandContext, Client } from '../command/command-context.ts';
import { Nothing } from '../api/api-call.ts';
import { deployments } from './deployments.ts';
import { recordNamed } from './named-records.ts';
import { postRecord } from './records.ts';
import { workflows } from './workflows.ts';
import { firstModelOf } from '../command/option-values.ts';
import { plain } from '../command/command-error.ts';
import { tableLines, type Column } from '../command/table.ts';
import { planMachine, update } from './plan-machine.ts';
import {
  presentVersion,
  allOrNothing,
  made,
  type CodePlan,
  type Deployed,
  type Planned,
} from './plan-version.ts';
import { queueLine, requestLine } from './request-line.ts';
import { workflowFile, type Deployable, type DeployOptions } from './workflow-file.ts';

/** The command that makes a folder with code, or a workflow file, ready for runs. */
export const addDeployCommand = (program: Command, { withClient, add }: CommandContext): void => {
  addDeploymentSettings(
    addRunnerOptions(
      add(
        program,
        'deploy [path]',
        'make or update a deployment of a folder with code, or of a workflow file, with all that it needs',
      )
        .option('--name <name>', 'of the deployment; of a folder, the one in its file by default')
        .addOption(gpuOption())
        .option('--message <text>', 'what is new in the version, for people')
        .option('--dry-run', 'say what would change, and change nothing')
        .option(
          '--inputs <file>',
          'of a workflow file: the list of its inputs as JSON; those of the present version by default',
        )
        .option('--no-inputs', 'of a workflow file: define no inputs')
        .option(
          '--random-seeds',
          'of a workflow file: another seed for each run, for the seeds that no input gives',
        )
        .option('--machine <machine>', 'an existing machine, instead of one with the same name'),
    ),
  ).action(
    withClient(async (client, path: string | undefined, options: DeployOptions) => {
      print(client, await deployed(client, await deployable(client, path ?? '.', options), options));
    }),
  );
};

const deployable = async (client: Client, path: string, options: DeployOptions): Promise<Deployable> => {
  const folder = resolve(client.cwd, path);
  const isFolder = path !== '-' && (await stat(folder).catch(() => undefined))?.isDirectory();
  if (!isFolder) return workflowFile(client, path, options);
  const { deployedFolder } = await import('../folder/deployed-folder.ts');
  return deployedFolder(client, folder, options);
};

/**
 * Makes what a deployment of this name needs, or updates it: its workflow, a version, its machine, and the deployment itself. What is
 * as it should be stays, and a command that was interrupted may be repeated. One that is refused leaves everything as it was.
 */
export const deployed = async (
  client: Client,
  { name, gpu, settings, runner, checkRunner, plan, tell }: Deployable,
  { machine: otherMachine, dryRun = false }: DeployOptions,
): Promise<Result> => {
  const { call } = client;
  const firstGpu = firstModelOf(settings.gpus);
  const machinePlan = await planMachine(client, {
    name,
    gpu,
    firstGpu,
    machine: otherMachine,
    runner,
    checkRunner,
  });
  const present = await recordNamed(call, deployments, { name, archived: false });
  const known = await recordNamed(call, workflows, { name, archived: false });
  const versionPlan = await plan(await presentVersion(client, known, present));
  // Its own machine has the GPU.
  const asked = { name, gpu: otherMachine === undefined ? undefined : gpu, ...settings };
  await versionPlan.explained(
    call(Nothing, {
      method: 'POST',
      path: '/deployments/check',
      body: {
        ...asked,
        deployment_id: present?.id,
        workflow_id: known?.id,
        ...versionPlan.checked,
        ...machinePlan.checked,
      },
    }),
  );
  const { same, code } = versionPlan;
  const changes = present ? changedSettings(present, asked) : [];
  if (dryRun) {
    const machine = machinePlan.planned;
    const uses = { workflow_version_id: same?.id ?? null, machine_id: machine.id };
    const stays = present && changes.length + changedSettings(present, uses).length === 0;
    return {
      machine,
      workflow: { id: known?.id ?? null, name, outcome: known ? 'unchanged' : 'new' },
      version: same
        ? { id: same.id, name: String(same.number), outcome: 'unchanged' }
        : { id: null, name: 'the next one', outcome: 'new' },
      deployment: present
        ? { id: present.id, name, outcome: stays ? 'unchanged' : 'updated' }
        : { id: null, name, outcome: 'new' },
      code,
      changes,
      made: undefined,
    };
  }
  const { parent, version, machine, deployment } = await allOrNothing(async (remember) => {
    const parent = known ?? (await made(client, workflows, { name }, remember));
    const version = await versionPlan.make(parent.id, remember);
    const machine = await machinePlan.make(remember);
    const deployment = await deployDeployment(client, present, {
      ...asked,
      workflow_version_id: version.item.id,
      machine_id: machine.item.id,
    });
    return { parent, version, machine, deployment };
  });
  tell(machine.item, version.item);
  return {
    machine: { id: machine.item.id, name: machine.item.name, outcome: machine.outcome },
    workflow: { id: parent.id, name: parent.name, outcome: known ? 'unchanged' : 'new' },
    version: { id: version.item.id, name: String(version.item.number), outcome: version.outcome },
    deployment: { id: deployment.item.id, name, outcome: deployment.outcome },
    code,
    changes,
    made: version.item,
  };
};

export interface Result extends Readonly<Record<'machine' | 'workflow' | 'version' | 'deployment', Planned>> {
  /** Of a folder. */
  readonly code: CodePlan | undefined;
  /** Settings of the deployment. */
  readonly changes: readonly string[];
  /** Undefined when nothing was made. */
  readonly made: WorkflowVersion | undefined;
}

/** A folder has versions, and what they have in common needs no word. */
const print = ({ screen, connection }: Client, result: Result): void => {
  const { machine, workflow, version, deployment, code, changes, made: item } = result;
  const number = /^\d+$/.test(version.name) ? Number(version.name) : null;
  const rows: readonly Row[] = code
    ? [
        ['deployment', deployment],
        ['version', version],
        ['code', { id: null, name: code.sha256.slice(0, 12), outcome: version.outcome }],
        ['machine', machine],
      ]
    : [
        ['machine', machine],
        ['workflow', workflow],
        ['version', version],
        ['deployment', deployment],
      ];
  const value = {
    ...Object.fromEntries(rows.map(([what, { id, outcome }]) => [what, { id, outcome }])),
    ...(code && {
      version: { id: version.id, outcome: version.outcome, number },
      code: { sha256: code.sha256, bytes: code.bytes },
      changes: { ...code.changes, settings: changes },
    }),
    ...(item === undefined && { dry_run: true }),
  };
  screen.result(value, () => [
    ...(code ? code.lines : []),
    ...(changes.length > 0 ? [`Settings of the deployment that change: ${changes.join(', ')}`] : []),
    ...tableLines(screen, columns(item === undefined ? 'WOULD BE' : 'NOW'), rows),
    ...(item === undefined
      ? []
      : [
          `\nQueue a run with:\n`,
          `  ${plain(requestLine(connection.url, deployment.name, item.inputs))}`,
          `  ${plain(queueLine(deployment.name, item.inputs))}`,
        ]),
  ]);
  if (screen.isJson()) return;
  if (item === undefined) screen.hint('\nNothing was changed. Without --dry-run it is.');
  else
    screen.hint(
      `\n$RUNLEDGER_API_KEY stands for your key. This command used the one of ${connection.source}.`,
    );
};

type Row = readonly [what: string, planned: Planned];

const columns = (outcomes: string): readonly Column<Row>[] => [
  { title: 'WHAT', width: 10, of: ([what]) => what },
  { title: 'ID', width: 36, of: ([, { id }]) => id },
  { title: outcomes, width: 9, of: ([, { outcome }]) => outcome },
  { title: 'NAME', width: 0, of: ([, { name }]) => name },
];

const deployDeployment = async (
  client: Client,
  present: Deployment | undefined,
  { name, ...settings }: Readonly<Record<string, unknown>>,
): Promise<Deployed<Deployment>> =>
  present === undefined
    ? { item: await postRecord(client.call, deployments, { name, ...settings }), outcome: 'new' }
    : update(client, deployments, present, settings);
