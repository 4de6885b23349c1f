import { isDeepStrictEqual } from 'node:util';
import type { Deployment } from '@runledger/contracts/http/catalogue/deployments';
import type { Machine } from '@runledger/contracts/http/catalogue/machines';
import type { WorkflowVersion } from '@runledger/contracts/http/catalogue/workflow-versions';
import type { JsonValue } from '@runledger/contracts/json';
import type { Client } from '../api-client/client.ts';
import { deploymentSettingsOf, type DeploymentSettings } from '../catalogue/deployment-settings.ts';
import { deployments } from '../catalogue/deployments.ts';
import { machines, runnerOf } from '../catalogue/machines.ts';
import type { RunnerOptions } from '../catalogue/machines.ts';
import { recordNamed } from '../catalogue/named-records.ts';
import { patchRecord, postRecord, readRecord } from '../catalogue/records.ts';
import type { SingleRecords } from '../catalogue/records.ts';
import { versionsOf } from '../catalogue/workflow-versions.ts';
import { workflows } from '../catalogue/workflows.ts';
import type { Json } from '../command/command-context.ts';
import { firstModelOf } from '../options/gpu-models.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import { printTable } from '../output/table.ts';
import type { Column } from '../output/table.ts';
import { checkWorkflow } from './check-workflow.ts';
import { queueLine, requestLine } from './request-line.ts';

export interface DeployOptions extends RunnerOptions, DeploymentSettings, Json {
  readonly name: string;
  readonly gpu?: string;
  readonly inputs?: string;
  readonly machine?: string;
}

type Outcome = 'new' | 'updated' | 'unchanged';

interface Deployed<Item> {
  readonly item: Item;
  readonly outcome: Outcome;
}

/**
 * Makes what a deployment of this name needs, or updates it: its machine, its workflow, a version, and the deployment itself. What is
 * as it should be stays, and a command that was interrupted may be repeated.
 */
export const deploy = async (client: Client, file: string, options: DeployOptions): Promise<ExitCode> => {
  const { call, screen, connection, readJsonFile } = client;
  const { name, gpu, json } = options;
  const settings = deploymentSettingsOf(options);
  const workflow = await readJsonFile('FILE', file);
  const inputs = options.inputs === undefined ? [] : await readJsonFile('--inputs', options.inputs);
  const machine = await deployMachine(client, workflow, {
    ...options,
    firstGpu: firstModelOf(settings.gpus),
  });
  const known = await recordNamed(call, workflows, { name, archived: false });
  const parent = known ?? (await postRecord(client.call, workflows, { name }));
  const version = await deployVersion(client, parent.id, { workflow, inputs });
  const deployment = await deployDeployment(client, name, {
    workflow_version_id: version.item.id,
    machine_id: machine.item.id,
    // Its own machine has the GPU.
    gpu: options.machine === undefined ? undefined : gpu,
    ...settings,
  });
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

type Row = readonly [what: string, name: string, outcome: Outcome, id: string];

const columns: readonly Column<Row>[] = [
  { title: 'WHAT', width: 10, of: ([what]) => what },
  { title: 'ID', width: 36, of: ([, , , id]) => id },
  { title: 'NOW', width: 9, of: ([, , outcome]) => outcome },
  { title: 'NAME', width: 0, of: ([, name]) => name },
];

const deployMachine = async (
  client: Client,
  workflow: JsonValue,
  {
    name,
    gpu,
    firstGpu,
    machine: given,
    ...options
  }: DeployOptions & { readonly firstGpu: string | undefined },
): Promise<Deployed<Machine>> => {
  const runner = runnerOf(options);
  if (given !== undefined) {
    if (runner !== undefined)
      throw new CommandError('A machine that exists has its runner. Use --machine or a runner, not both.');
    const item = await readRecord(client.call, machines, given);
    checkWorkflow(workflow, item.runner.kind);
    return { item, outcome: 'unchanged' };
  }
  const known = await recordNamed(client.call, machines, { name, archived: false });
  const kind = runner?.kind ?? known?.runner.kind;
  if (kind === undefined)
    throw new CommandError(
      `There is no machine ${plain(name)} yet. Say how it executes: --program NAME, --cog MODEL, --comfyui or --machine MACHINE.`,
    );
  checkWorkflow(workflow, kind);
  if (known !== undefined) return update(client, machines, known, { gpu, runner });
  const machineGpu = gpu ?? firstGpu;
  if (machineGpu === undefined)
    throw new CommandError(
      `There is no machine ${plain(name)} yet. Add --gpu MODEL, such as RTX4090, or --gpu CPU.`,
    );
  return { item: await postRecord(client.call, machines, { name, gpu: machineGpu, runner }), outcome: 'new' };
};

/** The newest version, when it is the same. */
const deployVersion = async (
  client: Client,
  workflowId: string,
  { workflow, inputs }: { readonly workflow: JsonValue; readonly inputs: JsonValue },
): Promise<Deployed<WorkflowVersion>> => {
  const versions = versionsOf(workflowId);
  const { items } = await versions.readPage(client.call, {
    method: 'GET',
    path: versions.path,
    query: { limit: 1 },
  });
  const made = (): Promise<WorkflowVersion> => postRecord(client.call, versions, { workflow, inputs });
  const [newest] = items;
  if (newest === undefined) return { item: await made(), outcome: 'new' };
  const present = await readRecord(client.call, versions, newest.id);
  const isSame = isDeepStrictEqual(present.workflow, workflow) && isSameList(present.inputs, inputs);
  return isSame ? { item: present, outcome: 'unchanged' } : { item: await made(), outcome: 'new' };
};

/** The service stores definitions without members that are null, and `required` always. */
const isSameList = (stored: WorkflowVersion['inputs'], given: JsonValue): boolean =>
  Array.isArray(given) &&
  isDeepStrictEqual(
    stored,
    given.map((input) =>
      typeof input === 'object' && input !== null
        ? {
            required: false,
            ...Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null)),
          }
        : input,
    ),
  );

const deployDeployment = async (
  client: Client,
  name: string,
  settings: Readonly<Record<string, unknown>>,
): Promise<Deployed<Deployment>> => {
  const known = await recordNamed(client.call, deployments, { name, archived: false });
  return known === undefined
    ? { item: await postRecord(client.call, deployments, { name, ...settings }), outcome: 'new' }
    : update(client, deployments, known, settings);
};

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
