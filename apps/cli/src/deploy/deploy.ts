import { isDeepStrictEqual } from 'node:util';
import type { WorkflowInput } from '@runledger/contracts/catalogue/records';
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
import { randomSeeds } from './random-seeds.ts';
import { queueLine, requestLine } from './request-line.ts';
import { allOrNothing, type Remember } from './take-back.ts';

export interface DeployOptions extends RunnerOptions, DeploymentSettings, Json {
  readonly name: string;
  readonly gpu?: string;
  /** False with `--no-inputs`. */
  readonly inputs?: string | false;
  readonly machine?: string;
  readonly randomSeeds?: boolean;
}

type Outcome = 'new' | 'updated' | 'unchanged';

interface Deployed<Item> {
  readonly item: Item;
  readonly outcome: Outcome;
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
  const planned = await planMachine(client, workflow, { ...options, firstGpu: firstModelOf(settings.gpus) });
  const present = await recordNamed(call, deployments, { name, archived: false });
  const known = await recordNamed(call, workflows, { name, archived: false });
  const { parent, version, machine, deployment } = await allOrNothing(async (remember) => {
    const parent = known ?? (await made(client, workflows, { name }, remember));
    const version = await deployVersion(client, parent.id, {
      workflow,
      inputs: options.inputs === false ? [] : inputs,
      randomSeeds: options.randomSeeds === true,
      usedId: present?.workflow_id === parent.id ? present.workflow_version_id : undefined,
      remember,
    });
    const machine = await planned(remember);
    const deployment = await deployDeployment(client, present, {
      name,
      workflow_version_id: version.item.id,
      machine_id: machine.item.id,
      // Its own machine has the GPU.
      gpu: options.machine === undefined ? undefined : gpu,
      ...settings,
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

/** A new record, which is archived when the command is refused later. */
const made = async <Item extends { readonly id: string }>(
  { call }: Client,
  kind: SingleRecords<Item>,
  body: Readonly<Record<string, unknown>>,
  remember: Remember,
): Promise<Item> => {
  const item = await postRecord(call, kind, body);
  remember(() => patchRecord(call, kind, { given: item.id, body: { archived: true } }));
  return item;
};

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
): Promise<(remember: Remember) => Promise<Deployed<Machine>>> => {
  const runner = runnerOf(options);
  if (given !== undefined) {
    if (runner !== undefined)
      throw new CommandError('A machine that exists has its runner. Use --machine or a runner, not both.');
    const item = await readRecord(client.call, machines, given);
    checkWorkflow(workflow, item.runner.kind);
    return async () => ({ item, outcome: 'unchanged' });
  }
  const known = await recordNamed(client.call, machines, { name, archived: false });
  const kind = runner?.kind ?? known?.runner.kind;
  if (kind === undefined)
    throw new CommandError(
      `There is no machine ${plain(name)} yet. Say how it executes: --program NAME, --cog MODEL, --comfyui or --machine MACHINE.`,
    );
  checkWorkflow(workflow, kind);
  if (known !== undefined)
    return async (remember) => {
      const { gpu: formerGpu, runner: formerRunner } = known;
      const updated = await update(client, machines, known, { gpu, runner });
      const body = { gpu: formerGpu, runner: formerRunner };
      if (updated.outcome === 'updated')
        remember(() => patchRecord(client.call, machines, { given: known.id, body }));
      return updated;
    };
  const machineGpu = gpu ?? firstGpu;
  if (machineGpu === undefined)
    throw new CommandError(
      `There is no machine ${plain(name)} yet. Add --gpu MODEL, such as RTX4090, or --gpu CPU.`,
    );
  const body = { name, gpu: machineGpu, runner };
  return async (remember) => ({ item: await made(client, machines, body, remember), outcome: 'new' });
};

interface VersionToDeploy {
  readonly workflow: JsonValue;
  /** Undefined for those of the present version. */
  readonly inputs: JsonValue | undefined;
  /** Whether the seeds that no input gives become random inputs. */
  readonly randomSeeds: boolean;
  /** The version that the deployment uses; undefined without one. */
  readonly usedId: string | undefined;
  readonly remember: Remember;
}

/** The present version, when it is the same: the one that the deployment uses, or else the newest one. */
const deployVersion = async (
  client: Client,
  workflowId: string,
  { workflow, inputs, randomSeeds: withSeeds, usedId, remember }: VersionToDeploy,
): Promise<Deployed<WorkflowVersion>> => {
  const versions = versionsOf(workflowId);
  const { items } = await versions.readPage(client.call, {
    method: 'GET',
    path: versions.path,
    query: { limit: 1 },
  });
  const presentId = usedId ?? items[0]?.id;
  const present = presentId === undefined ? undefined : await readRecord(client.call, versions, presentId);
  const wanted = inputs ?? present?.inputs ?? [];
  const seeds = Array.isArray(wanted) ? randomSeeds(workflow, wanted as WorkflowInput[]) : [];
  const kept = withSeeds && Array.isArray(wanted) ? [...wanted, ...seeds] : wanted;
  if (present && isDeepStrictEqual(present.workflow, workflow) && isSameList(present.inputs, kept))
    return { item: present, outcome: 'unchanged' };
  try {
    const item = await made(client, versions, { workflow, inputs: kept }, remember);
    if (inputs === undefined && present && present.inputs.length > 0)
      client.screen.hint(`It has the input definitions of version ${present.number}. ${OTHER_INPUTS}`);
    return { item, outcome: 'new' };
  } catch (error) {
    const isAboutKept =
      error instanceof CommandError && inputs === undefined && error.message.includes('body.inputs');
    if (!isAboutKept || error.refusal === undefined) throw error;
    const why = `${error.message} The definitions are those of version ${present?.number}. ${OTHER_INPUTS}`;
    throw new CommandError(why, { refusal: error.refusal, cause: error });
  }
};

const OTHER_INPUTS = 'Give others with --inputs FILE, or none with --no-inputs.';

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
