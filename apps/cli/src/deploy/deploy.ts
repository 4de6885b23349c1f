import { isDeepStrictEqual } from 'node:util';
import type { WorkflowVersion } from '@runledger/contracts/http/catalogue/workflow-versions';
import type { Deployment } from '@runledger/contracts/http/catalogue/deployments';
import type { Machine } from '@runledger/contracts/http/catalogue/machines';
import type { JsonValue } from '@runledger/contracts/json';
import { Nothing } from '../api-client/api-call.ts';
import type { Client } from '../api-client/client.ts';
import { deploymentSettingsOf, type DeploymentSettings } from '../catalogue/deployment-settings.ts';
import { deployments } from '../catalogue/deployments.ts';
import { machines, runnerOf } from '../catalogue/machines.ts';
import type { RunnerOptions } from '../catalogue/machines.ts';
import { recordNamed } from '../catalogue/named-records.ts';
import { patchRecord, postRecord, readRecord } from '../catalogue/records.ts';
import type { SingleRecords } from '../catalogue/records.ts';
import { workflows } from '../catalogue/workflows.ts';
import type { Json } from '../command/command-context.ts';
import { firstModelOf } from '../options/gpu-models.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import { printTable } from '../output/table.ts';
import type { Column } from '../output/table.ts';
import { checkWorkflow } from './check-workflow.ts';
import { randomSeeds } from './random-seeds.ts';
import { queueLine, requestLine } from './request-line.ts';
import { planVersion } from './plan-version.ts';
import { allOrNothing, made, type Deployed, type Outcome, type Remember } from './take-back.ts';

export interface DeployOptions extends RunnerOptions, DeploymentSettings, Json {
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
export const deploy = async (client: Client, file: string, options: DeployOptions): Promise<ExitCode> => {
  const { call, screen, connection, readJsonFile } = client;
  const { name, gpu, json } = options;
  const settings = deploymentSettingsOf(options);
  const workflow = await readJsonFile('FILE', file);
  const inputs =
    typeof options.inputs === 'string' ? await readJsonFile('--inputs', options.inputs) : undefined;
  const machinePlan = await planMachine(client, workflow, {
    ...options,
    firstGpu: firstModelOf(settings.gpus),
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
  if (json) {
    screen.printJson(Object.fromEntries(rows.map(([what, , outcome, id]) => [what, { id, outcome }])));
    return EXIT.done;
  }
  printTable(screen, columns, { items: rows, json: false });
  screen.print(`\nQueue a run with:\n`);
  screen.print(`  ${plain(requestLine(connection.url, deployment.item.id, version.item.inputs))}`);
  screen.print(`  ${plain(queueLine(name, version.item.inputs))}`);
  screen.hint(`\n$RUNLEDGER_API_KEY stands for your key. This command used the one of ${connection.source}.`);
  return EXIT.done;
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

interface MachinePlan {
  /** What the service checks of it. */
  readonly checked: Readonly<Record<string, unknown>>;
  readonly make: (remember: Remember) => Promise<Deployed<Machine>>;
}

/** Finds what is wrong before anything is made. */
const planMachine = async (
  client: Client,
  workflow: JsonValue,
  {
    name,
    gpu,
    firstGpu,
    machine: given,
    ...options
  }: DeployOptions & { readonly firstGpu: string | undefined },
): Promise<MachinePlan> => {
  const runner = runnerOf(options);
  if (given !== undefined) {
    if (runner !== undefined)
      throw new CommandError('A machine that exists has its runner. Use --machine or a runner, not both.');
    const item = await readRecord(client.call, machines, given);
    checkWorkflow(workflow, item.runner.kind);
    return { checked: { machine_id: item.id }, make: async () => ({ item, outcome: 'unchanged' }) };
  }
  const known = await recordNamed(client.call, machines, { name, archived: false });
  const kind = runner?.kind ?? known?.runner.kind;
  if (kind === undefined)
    throw new CommandError(
      `There is no machine ${plain(name)} yet. Say how it executes: --program NAME, --cog MODEL, --comfyui or --machine MACHINE.`,
    );
  checkWorkflow(workflow, kind);
  if (known !== undefined)
    return {
      checked: {
        machine_id: known.id,
        machine: { name, gpu: gpu ?? known.gpu, runner: runner ?? known.runner },
      },
      make: async (remember) => {
        const { gpu: formerGpu, runner: formerRunner } = known;
        const updated = await update(client, machines, known, { gpu, runner });
        const body = { gpu: formerGpu, runner: formerRunner };
        if (updated.outcome === 'updated')
          remember(() => patchRecord(client.call, machines, { given: known.id, body }));
        return updated;
      },
    };
  const machineGpu = gpu ?? firstGpu;
  if (machineGpu === undefined)
    throw new CommandError(
      `There is no machine ${plain(name)} yet. Add --gpu MODEL, such as RTX4090, or --gpu CPU.`,
    );
  const machine = { name, gpu: machineGpu, runner };
  return {
    checked: { machine },
    make: async (remember) => ({ item: await made(client, machines, machine, remember), outcome: 'new' }),
  };
};

const deployDeployment = async (
  client: Client,
  present: Deployment | undefined,
  { name, ...settings }: Readonly<Record<string, unknown>>,
): Promise<Deployed<Deployment>> =>
  present === undefined
    ? { item: await postRecord(client.call, deployments, { name, ...settings }), outcome: 'new' }
    : update(client, deployments, present, settings);

/** The service compares: what it stores already does not change. */
const update = async <Item extends { readonly id: string }>(
  { call }: Client,
  kind: SingleRecords<Item>,
  present: Item,
  body: Readonly<Record<string, unknown>>,
): Promise<Deployed<Item>> => {
  if (Object.values(body).every((value) => value === undefined))
    return { item: present, outcome: 'unchanged' };
  const item = await patchRecord(call, kind, { given: present.id, body });
  return { item, outcome: isDeepStrictEqual(item, present) ? 'unchanged' : 'updated' };
};
