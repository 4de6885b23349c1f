import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import type { WorkflowVersion, NewInputDefinition } from '@runledger/contracts/http/catalogue/workflows';
import type { Deployment } from '@runledger/contracts/http/catalogue/deployments';
import type { Machine } from '@runledger/contracts/http/catalogue/machines';
import { type JsonValue, isJsonObject } from '@runledger/contracts/json';
import { comfyuiNodes, EXPORT_API, isEditorWorkflow } from '@runledger/contracts/catalogue/comfyui-workflow';
import type { Runner } from '@runledger/contracts/catalogue/runners';
import { isFileListType } from '@runledger/contracts/catalogue/workflow-inputs';
import { addRunnerOptions, gpuOption, machines, runnerOf, type RunnerOptions } from './machines.ts';
import {
  addDeploymentSettings,
  deploymentSettingsOf,
  type DeploymentSettings,
} from './deployment-settings.ts';
import type { CommandContext, Client } from '../command/command-context.ts';
import { Nothing } from '../api/api-call.ts';
import { deployments } from './deployments.ts';
import { recordNamed } from './named-records.ts';
import { patchRecord, postRecord, readRecord, type SingleRecords } from './records.ts';
import { workflows } from './workflows.ts';
import { firstModelOf } from '../command/option-values.ts';
import { CommandError, plain } from '../command/command-error.ts';
import { tableLines, type Column } from '../command/table.ts';
import { deploymentIn } from '../runs/run-options.ts';
import {
  randomSeeds,
  planVersion,
  allOrNothing,
  made,
  type Deployed,
  type Outcome,
  type Remember,
} from './plan-version.ts';

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
        if (updated.outcome === 'updated') remember(() => patchRecord(client.call, machines, known.id, body));
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
  const item = await patchRecord(call, kind, present.id, body);
  return { item, outcome: isDeepStrictEqual(item, present) ? 'unchanged' : 'updated' };
};

/** @throws CommandError for a workflow in the format of ComfyUI's editor, or that this kind of runner can never execute */
const checkWorkflow = (workflow: JsonValue, kind: Runner['kind']): void => {
  if (isEditorWorkflow(workflow)) throw new CommandError(`FILE is refused: ${EXPORT_API}.`);
  if (kind !== 'comfyui') return;
  const found = comfyuiNodes(workflow);
  const nodes = isJsonObject(found) ? Object.entries(found) : [];
  const wrong = nodes.find(([, node]) => !isJsonObject(node) || typeof node['class_type'] !== 'string');
  if (nodes.length > 0 && wrong === undefined) return;
  const what = wrong === undefined ? 'It has no nodes.' : `"${wrong[0]}" has no class_type.`;
  throw new CommandError(
    `This is no ComfyUI workflow in API format, an object of nodes with a class_type each. ${what} In ComfyUI choose Workflow, Export (API).`,
  );
};

/** A line for a shell that queues a run. The key stands in an environment variable, not in the history of the shell. */
export const requestLine = (
  url: string,
  deployment: string,
  inputs: readonly NewInputDefinition[],
): string => {
  const body = JSON.stringify({
    ...deploymentIn(deployment),
    inputs: Object.fromEntries(inputs.filter(isNeeded).map((input) => [input.name, exampleOf(input)])),
  });
  return `curl -s ${quoted(`${url}/run/deployment/queue`)} -H "Authorization: Bearer $RUNLEDGER_API_KEY" -H 'Content-Type: application/json' -d ${quoted(body)}`;
};

/** The same with this tool. `FILE` is to be replaced, as are the other values. */
export const queueLine = (deployment: string, inputs: readonly NewInputDefinition[]): string => {
  const examples = inputs.filter(isNeeded).map((input) => {
    const item = isFileListType(input.type) ? '[]' : '';
    return `${input.name}${item}=${wordOf(exampleOf(input))}`;
  });
  const options = examples.map((example) => ` --input ${quoted(example)}`).join('');
  return `runledger queue --watch --deployment ${quoted(deployment)}${options}`;
};

const wordOf = (value: unknown): string => {
  if (value === EXAMPLE_URL || value === EXAMPLE_URLS) return '@FILE';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

const EXAMPLE_URL = 'https://example.com/FILE';
const EXAMPLE_URLS = [EXAMPLE_URL];

const quoted = (text: string): string =>
  /^[\w:/.@=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const isNeeded = (input: NewInputDefinition): boolean =>
  input.required === true && (input.default ?? null) === null && input.random !== true;

/** A value that fits the definition, to be replaced. */
const exampleOf = ({ type, enum: values, minimum, maximum }: NewInputDefinition): unknown => {
  const [first] = values ?? [];
  switch (type) {
    case 'string':
      return first ?? 'TEXT';
    case 'integer':
    case 'number':
      return first ?? minimum ?? maximum ?? 1;
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'file':
    case 'image':
    case 'audio':
    case 'video':
      return EXAMPLE_URL;
    case 'file[]':
    case 'image[]':
    case 'audio[]':
    case 'video[]':
      return EXAMPLE_URLS;
  }
};
