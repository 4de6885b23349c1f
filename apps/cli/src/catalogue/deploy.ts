import type { Command } from 'commander';
import type { WorkflowVersion } from '@runledger/contracts/http/catalogue/workflows';
import type { Deployment } from '@runledger/contracts/http/catalogue/deployments';
import type { JsonValue } from '@runledger/contracts/json';
import { addRunnerOptions, gpuOption, runnerOf, type RunnerOptions } from './machines.ts';
import {
  addDeploymentSettings,
  deploymentSettingsOf,
  type DeploymentSettings,
} from './deployment-settings.ts';
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
import { randomSeeds, planVersion, allOrNothing, made, type Deployed, type Outcome } from './plan-version.ts';
import { queueLine, requestLine } from './request-line.ts';

/** The command that makes a workflow file ready for runs. */
export const addDeployCommand = (program: Command, { withClient, add }: CommandContext): void => {
  addDeploymentSettings(
    addRunnerOptions(
      add(program, 'deploy <file>', 'make or update a deployment of a workflow file, with all that it needs')
        .requiredOption('--name <name>', 'of the deployment, its workflow and its machine')
        .addOption(gpuOption())
        .option(
          '--inputs <file>',
          'the list of its inputs as JSON: their names, types and defaults; those of the present version by default',
        )
        .option('--no-inputs', 'a version that defines no inputs')
        .option(
          '--random-seeds',
          'another seed for each run, for the seeds of the workflow that no input gives',
        )
        .option('--machine <machine>', 'an existing machine, instead of one with the same name'),
    ),
  ).action(withClient(deploy));
};

interface DeployOptions extends RunnerOptions, DeploymentSettings {
  readonly name: string;
  readonly gpu?: string;
  /** False with `--no-inputs`. */
  readonly inputs?: string | false;
  readonly machine?: string;
  readonly randomSeeds?: boolean;
}

/**
 * Makes what a deployment of this name needs, or updates it: its workflow, a version, its machine, and the deployment itself. What is
 * as it should be stays, and a command that was interrupted may be repeated. One that is refused leaves everything as it was.
 */
const deploy = async (client: Client, file: string, options: DeployOptions): Promise<void> => {
  const { call, screen, connection, readJsonFile } = client;
  const { name, gpu } = options;
  const settings = deploymentSettingsOf(options);
  const workflow = await readJsonFile('FILE', file);
  const inputs =
    typeof options.inputs === 'string' ? await readJsonFile('--inputs', options.inputs) : undefined;
  const machinePlan = await planMachine(client, workflow, {
    name,
    gpu,
    firstGpu: firstModelOf(settings.gpus),
    machine: options.machine,
    runner: runnerOf(options),
  });
  const present = await recordNamed(call, deployments, { name, archived: false });
  const known = await recordNamed(call, workflows, { name, archived: false });
  const versionPlan = await planVersion(client, known?.id, {
    workflow,
    inputs: options.inputs === false ? [] : inputs,
    randomSeeds: options.randomSeeds === true,
    usedId: present && present.workflow_id === known?.id ? present.workflow_version_id : undefined,
  });
  // Its own machine has the GPU.
  const asked = { name, gpu: options.machine === undefined ? undefined : gpu, ...settings };
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
  if (machine.item.runner.kind === 'comfyui') tellFixedSeeds(client, workflow, version.item.inputs);
  const rows: readonly Row[] = [
    ['machine', machine.item.name, machine.outcome, machine.item.id],
    ['workflow', parent.name, known ? 'unchanged' : 'new', parent.id],
    ['version', String(version.item.number), version.outcome, version.item.id],
    ['deployment', name, deployment.outcome, deployment.item.id],
  ];
  screen.result(Object.fromEntries(rows.map(([what, , outcome, id]) => [what, { id, outcome }])), () => [
    ...tableLines(screen, columns, rows),
    `\nQueue a run with:\n`,
    `  ${plain(requestLine(connection.url, name, version.item.inputs))}`,
    `  ${plain(queueLine(name, version.item.inputs))}`,
  ]);
  if (!screen.isJson())
    screen.hint(
      `\n$RUNLEDGER_API_KEY stands for your key. This command used the one of ${connection.source}.`,
    );
};

/** ComfyUI's page and ComfyUI Deploy draw another one for each run. */
const tellFixedSeeds = ({ screen }: Client, workflow: JsonValue, inputs: WorkflowVersion['inputs']): void => {
  const seeds = randomSeeds(workflow, inputs);
  const fixed = seeds
    .filter(({ node }) => node !== undefined)
    .map(({ node, field }) => `${field} of node ${node}`);
  const hidden = seeds.filter(({ node }) => node === undefined).map(({ name }) => name);
  if (fixed.length > 0)
    screen.hint(
      `Each run has the same ${plain(fixed.join(', '))}. With --random-seeds each draws another one, and shows it.`,
    );
  if (hidden.length > 0)
    screen.hint(
      `Nobody is shown which ${plain(hidden.join(', '))} a run draws. With --random-seeds it is an input of the run.`,
    );
};

type Row = readonly [what: string, name: string, outcome: Outcome, id: string];

const columns: readonly Column<Row>[] = [
  { title: 'WHAT', width: 10, of: ([what]) => what },
  { title: 'ID', width: 36, of: ([, , , id]) => id },
  { title: 'NOW', width: 9, of: ([, , outcome]) => outcome },
  { title: 'NAME', width: 0, of: ([, name]) => name },
];

const deployDeployment = async (
  client: Client,
  present: Deployment | undefined,
  { name, ...settings }: Readonly<Record<string, unknown>>,
): Promise<Deployed<Deployment>> =>
  present === undefined
    ? { item: await postRecord(client.call, deployments, { name, ...settings }), outcome: 'new' }
    : update(client, deployments, present, settings);
