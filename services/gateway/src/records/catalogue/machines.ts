import type { Static } from 'typebox';
import type { Machine as MachineRecord } from '@runledger/contracts/catalogue/records';
import { gpuModel } from '@runledger/contracts/gpu';
import {
  codeExecutedBy,
  runnerKindOf,
  type Runner,
  type RunnerChoice,
} from '@runledger/contracts/catalogue/runners';
import type { RecordIdentity } from './records.ts';
import { NamedRecordsQuery } from '@runledger/contracts/http/fields';
import {
  Machine,
  MachineChange,
  MachinePage,
  MachinePath,
  NewMachine,
} from '@runledger/contracts/http/catalogue/machines';
import { changeUnlessUsed } from './catalogue.ts';
import { route, type Route } from '../../door/operation.ts';
import { cursorAt } from '../../door/pagination.ts';
import { found, type Conflict } from '../../door/refusal.ts';
import {
  changed,
  refusedBy,
  recordOperations,
  deleted,
  newIdentity,
  withinRecordQuota,
  checkRecordCursor,
  isNamed,
  recordSpan,
  type CatalogueOperations,
} from './record-answers.ts';
import type { Kit } from '../../kit.ts';

const operations = recordOperations(
  'machine',
  {
    path: MachinePath,
    query: NamedRecordsQuery,
    page: MachinePage,
    shown: Machine,
    create: NewMachine,
    change: MachineChange,
  },
  {
    tag: 'Catalogue',
    summaries: { change: 'Change, archive or restore a machine' },
    descriptions: {
      create: 'A kind of host that runs execute on: a GPU model, and how a workflow is executed there.',
      change:
        'Queued runs keep the machine as it was when they were queued. A machine that a deployment uses cannot be archived, nor begin or cease to run code.',
      delete:
        'It must have been archived for a minute. A machine that a deployment or a run in progress uses cannot be deleted.',
    },
    conflicts: [409],
  },
);

export const machineRoutes = (
  { now }: Kit,
  { records: { machines, deployments }, deletion, quotas }: CatalogueOperations,
): Route[] => [
  route(operations.create, async ({ body }, { org_id }) => {
    const machine = newMachine(body, newIdentity(org_id, now));
    const result = await withinRecordQuota(quotas, org_id, 1, () => machines.create<Conflict>(machine));
    return changed(result, 'Machine', refusedBy);
  }),
  route(
    operations.list,
    async ({ query }, { org_id }) => {
      const page = await machines.page(org_id, recordSpan(query), isNamed(query));
      return { machines: [...page.items], next_cursor: cursorAt(page.end) };
    },
    checkRecordCursor,
  ),
  route(operations.get, async ({ path }, { org_id }) =>
    found(await machines.get(org_id, path.machine_id), 'Machine'),
  ),
  route(operations.change, async ({ path, body }, { org_id }) => {
    const result = await machines.change(org_id, path.machine_id, (machine) => {
      const after = changedMachine(machine, body);
      // Versions with code, those for ComfyUI and others are executed by different machines.
      const isOther = codeExecutedBy(machine.runner) !== codeExecutedBy(after.runner);
      return changeUnlessUsed(deployments, 'machine_id', machine, after, isOther);
    });
    return changed(result, 'Machine', refusedBy);
  }),
  route(operations.delete, async ({ path }, { org_id }) =>
    deleted(await deletion.machine(org_id, path.machine_id), 'Machine'),
  ),
];

export const newMachine = (
  { name, gpu, type, runner }: Static<typeof NewMachine>,
  origin: RecordIdentity,
): MachineRecord => ({
  ...origin,
  name,
  gpu: gpuModel(gpu),
  type: type ?? runner.kind,
  version: '1',
  runner: runnerOf(runner),
  archived: false,
});

/** Runs show the version of their machine. It rises with every change that matters to a run. */
const changedMachine = (machine: MachineRecord, change: Static<typeof MachineChange>): MachineRecord => {
  const changed: MachineRecord = {
    ...machine,
    name: change.name ?? machine.name,
    gpu: change.gpu ? gpuModel(change.gpu) : machine.gpu,
    type: change.type ?? machine.type,
    runner: change.runner ? runnerOf(change.runner) : machine.runner,
    archived: change.archived ?? machine.archived,
  };
  const isSame =
    changed.gpu === machine.gpu &&
    changed.type === machine.type &&
    isSameRunner(changed.runner, machine.runner);
  return isSame ? changed : { ...changed, version: versionAfter(machine.version) };
};

const runnerOf = (requested: Runner): RunnerChoice => runnerKindOf(requested).choiceOf(requested);

const isSameRunner = (one: RunnerChoice, other: RunnerChoice): boolean =>
  JSON.stringify(runnerOf(one)) === JSON.stringify(runnerOf(other));

/** A version that is not a number was written by an operator. The next one is 2. */
const versionAfter = (version: string): string =>
  /^\d{1,15}$/.test(version) ? String(Number(version) + 1) : '2';
