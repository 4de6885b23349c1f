import { NamedRecordsQuery } from '@runledger/contracts/http/fields';
import {
  Machine,
  MachineChange,
  MachinePage,
  MachinePath,
  NewMachine,
} from '@runledger/contracts/http/catalogue/machines';
import { decideArchiving } from './catalogue.ts';
import { changedMachine, newMachine } from './machine.decide.ts';
import { operation, route, type Route } from '../../door/operation.ts';
import { cursorAt } from '../../door/pagination.ts';
import type { Conflict } from '../../door/refusal.ts';
import {
  changed,
  refusedBy,
  created,
  deleted,
  found,
  newOrigin,
  withinQuota,
  checkRecordCursor,
  isNamed,
  recordSpan,
  type CatalogueOperations,
} from './record-answers.ts';
import type { Kit } from '../../kit.ts';

const tag = 'Catalogue';

const createMachine = operation({
  id: 'createMachine',
  method: 'POST',
  path: '/machines',
  tag,
  summary: 'Create a machine',
  description: 'A kind of host that runs execute on: a GPU model, and how a workflow is executed there.',
  scope: 'admin',
  audit: { action: 'machine.created' },
  request: { body: NewMachine },
  response: {
    status: 201,
    description: 'The machine.',
    body: Machine,
    links: { to: ['getMachine', 'changeMachine', 'deleteMachine'], parameters: { machine_id: '/id' } },
  },
  refusals: [409],
});

const listMachines = operation({
  id: 'listMachines',
  method: 'GET',
  path: '/machines',
  tag,
  summary: 'List machines',
  description: 'Newest first.',
  scope: 'runs:read',
  request: { query: NamedRecordsQuery },
  response: { status: 200, description: 'A page of machines.', body: MachinePage },
  refusals: [],
});

const getMachine = operation({
  id: 'getMachine',
  method: 'GET',
  path: '/machines/{machine_id}',
  tag,
  summary: 'Read a machine',
  scope: 'runs:read',
  request: { path: MachinePath },
  response: { status: 200, description: 'The machine.', body: Machine },
  refusals: [404],
});

const changeMachine = operation({
  id: 'changeMachine',
  method: 'PATCH',
  path: '/machines/{machine_id}',
  tag,
  summary: 'Change, archive or restore a machine',
  description:
    'Queued runs keep the machine as it was when they were queued. A machine that a deployment uses cannot be archived.',
  scope: 'admin',
  audit: { action: 'machine.changed', target: 'machine_id' },
  request: { path: MachinePath, body: MachineChange },
  response: { status: 200, description: 'The machine as it is now.', body: Machine },
  refusals: [404, 409],
});

const deleteMachineOperation = operation({
  id: 'deleteMachine',
  method: 'DELETE',
  path: '/machines/{machine_id}',
  tag,
  summary: 'Delete a machine',
  description:
    'It must have been archived for a minute. A machine that a deployment or a run in progress uses cannot be deleted.',
  scope: 'admin',
  audit: { action: 'machine.deleted', target: 'machine_id' },
  request: { path: MachinePath },
  response: { status: 204, description: 'The machine is deleted.' },
  refusals: [404, 409],
});

export const machineRoutes = (
  { now }: Kit,
  { records: { machines, deployments }, deletion, quotas }: CatalogueOperations,
): Route[] => [
  route(createMachine, async ({ body }, { org_id }) => {
    const machine = newMachine(body, newOrigin(org_id, now));
    const result = await withinQuota(quotas.catalogue_records, { org_id }, () =>
      machines.create<Conflict>(machine),
    );
    return created(result, refusedBy);
  }),
  route(
    listMachines,
    async ({ query }, { org_id }) => {
      const page = await machines.page(org_id, recordSpan(query), isNamed(query));
      return { machines: [...page.items], next_cursor: cursorAt(page.end) };
    },
    checkRecordCursor,
  ),
  route(getMachine, async ({ path }, { org_id }) =>
    found(await machines.get(org_id, path.machine_id), 'Machine'),
  ),
  route(changeMachine, async ({ path, body }, { org_id }) => {
    const result = await machines.change(org_id, path.machine_id, (machine) =>
      decideArchiving(deployments, 'machine_id', machine, changedMachine(machine, body)),
    );
    return changed(result, 'Machine', refusedBy);
  }),
  route(deleteMachineOperation, async ({ path }, { org_id }) =>
    deleted(await deletion.machine(org_id, path.machine_id), 'Machine'),
  ),
];
