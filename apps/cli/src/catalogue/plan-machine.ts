import { isDeepStrictEqual } from 'node:util';
import type { Machine } from '@runledger/contracts/http/catalogue/machines';
import { type JsonValue, isJsonObject } from '@runledger/contracts/json';
import { comfyuiNodes, EXPORT_API, isEditorWorkflow } from '@runledger/contracts/catalogue/comfyui-workflow';
import { codeExecutedBy, runnerKindOf, type Runner } from '@runledger/contracts/catalogue/runners';
import { parseGpuModel } from '@runledger/contracts/gpu';
import { machines } from './machines.ts';
import type { Client } from '../command/command-context.ts';
import { recordNamed } from './named-records.ts';
import { patchRecord, readRecord, type SingleRecords } from './records.ts';
import { CommandError, plain } from '../command/command-error.ts';
import { made, type Deployed, type Planned, type Remember } from './plan-version.ts';

interface MachinePlan {
  /** What the service checks of it. */
  readonly checked: Readonly<Record<string, unknown>>;
  /** What it is now, and what would become of it. */
  readonly planned: Planned;
  readonly make: (remember: Remember) => Promise<Deployed<Machine>>;
}

interface WantedMachine {
  readonly name: string;
  readonly gpu: string | undefined;
  /** Of the deployment. */
  readonly firstGpu: string | undefined;
  /** One that exists. */
  readonly machine: string | undefined;
  readonly runner: Runner | undefined;
  /** Throws a CommandError for a runner that can never execute what is deployed. */
  readonly checkRunner: (runner: Runner) => void;
}

/** Finds what is wrong before anything is made. */
export const planMachine = async (
  client: Client,
  { name, gpu, firstGpu, machine: given, runner, checkRunner }: WantedMachine,
): Promise<MachinePlan> => {
  if (given !== undefined) {
    const item = await readRecord(client.call, machines, given);
    checkRunner(item.runner);
    return {
      checked: { machine_id: item.id },
      planned: { id: item.id, name: item.name, outcome: 'unchanged' },
      make: async () => ({ item, outcome: 'unchanged' }),
    };
  }
  const known = await recordNamed(client.call, machines, { name, archived: false });
  const executing = runner ?? known?.runner;
  if (executing === undefined)
    throw new CommandError(
      `There is no machine ${plain(name)} yet. Say how it executes: --program NAME, --cog MODEL, --comfyui or --machine MACHINE.`,
    );
  checkRunner(executing);
  if (known !== undefined) {
    // Its other deployments could not be executed any more.
    if (codeExecutedBy(known.runner) !== codeExecutedBy(executing))
      throw new CommandError(
        `There is a machine ${plain(name)} already, and it ${whatItHas(known.runner)}. Give the deployment another name with --name, or name another machine with --machine.`,
      );
    const asked = { name, gpu: gpu ?? known.gpu, runner: executing };
    const stays =
      parseGpuModel(asked.gpu) === known.gpu &&
      isDeepStrictEqual(choiceOf(asked.runner), choiceOf(known.runner));
    return {
      checked: { machine_id: known.id, machine: asked },
      planned: { id: known.id, name, outcome: stays ? 'unchanged' : 'updated' },
      make: async (remember) => {
        const { gpu: formerGpu, runner: formerRunner } = known;
        const updated = await update(client, machines, known, { gpu, runner });
        const body = { gpu: formerGpu, runner: formerRunner };
        if (updated.outcome === 'updated') remember(() => patchRecord(client.call, machines, known.id, body));
        return updated;
      },
    };
  }
  const machineGpu = gpu ?? firstGpu;
  if (machineGpu === undefined)
    throw new CommandError(
      `There is no machine ${plain(name)} yet. Add --gpu MODEL, such as RTX4090, or --gpu CPU${executing.kind === 'code' ? ', or gpu = "CPU" to the file of the folder' : ''}.`,
    );
  const machine = { name, gpu: machineGpu, runner };
  return {
    checked: { machine },
    planned: { id: null, name, outcome: 'new' },
    make: async (remember) => ({ item: await made(client, machines, machine, remember), outcome: 'new' }),
  };
};

const whatItHas = (runner: Runner): string => {
  if (runner.kind !== 'code') return `has the runner ${runner.kind}`;
  return runner.server ? 'executes the ComfyUI workflows of folders' : 'executes the code of folders';
};

const choiceOf = (runner: Runner): unknown => runnerKindOf(runner).choiceOf(runner);

/** The service compares: what it stores already does not change. */
export const update = async <Item extends { readonly id: string }>(
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
export const checkWorkflow = (workflow: JsonValue, kind: Runner['kind']): void => {
  if (isEditorWorkflow(workflow)) throw new CommandError(`FILE is refused: ${EXPORT_API}.`);
  if (kind === 'code')
    throw new CommandError(
      'The machine executes the code of folders, and FILE is a workflow. Name another one with --machine, or the folder instead of the file.',
    );
  if (kind === 'comfyui') checkPrompt(workflow, 'This');
};

/** @throws CommandError for a workflow that no ComfyUI server executes. `what`: the file, for the beginning of a sentence. */
export const checkPrompt = (workflow: JsonValue, what: string): void => {
  if (isEditorWorkflow(workflow)) throw new CommandError(`${what} is refused: ${EXPORT_API}.`);
  const found = comfyuiNodes(workflow);
  const nodes = isJsonObject(found) ? Object.entries(found) : [];
  const wrong = nodes.find(([, node]) => !isJsonObject(node) || typeof node['class_type'] !== 'string');
  if (nodes.length > 0 && wrong === undefined) return;
  const why = wrong === undefined ? 'It has no nodes.' : `"${wrong[0]}" has no class_type.`;
  throw new CommandError(
    `${what} is no ComfyUI workflow in API format, an object of nodes with a class_type each. ${why} In ComfyUI choose Workflow, Export (API).`,
  );
};
