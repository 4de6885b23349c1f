import { Workflow, WorkflowPage } from '@runledger/contracts/http/workflows';
import type { Command } from 'commander';
import { at } from '../api-call.ts';
import type { Json, ProgramParts } from '../program-parts.ts';
import {
  addRecordCommands,
  addRecordList,
  commonRows,
  lastRows,
  listRecords,
  showRecord,
} from './record-commands.ts';
import type { RecordKind, RecordListOptions } from './record-commands.ts';
import { addVersionCommands } from './workflow-versions.ts';

const workflows: RecordKind<Workflow> = {
  what: 'Workflow',
  list: async (call, query) => {
    const page = await call(WorkflowPage, { method: 'GET', path: '/workflows', query });
    return { items: page.workflows, next_cursor: page.next_cursor };
  },
  read: (call, id) => call(Workflow, { method: 'GET', path: at`/workflows/${id}` }),
  change: (call, id, body) => call(Workflow, { method: 'PATCH', path: at`/workflows/${id}`, body }),
  columns: [
    { title: 'ID', width: 36, of: ({ id }) => id },
    { title: 'CREATED', width: 24, of: ({ created_at }) => created_at },
    { title: 'NAME', width: 0, of: ({ name }) => name },
  ],
  rows: (workflow) => [...commonRows(workflow), ...lastRows(workflow)],
};

/** The workflows of an organisation, and their versions. */
export const addWorkflowCommands = (program: Command, parts: ProgramParts): void => {
  const { client, end, add } = parts;
  const group = program.command('workflows').description('what runs execute, in numbered versions');
  addRecordList(parts, group, 'list', 'list workflows, newest first').action(
    async (options: RecordListOptions) => {
      const { call, screen } = await client();
      end(await listRecords(screen, options, workflows, (query) => workflows.list(call, query)));
    },
  );
  addRecordCommands(parts, group, workflows);
  add(group, 'create', 'make a workflow, which has no version yet')
    .requiredOption('--name <name>', 'for people')
    .action(async ({ name, json }: Json & { readonly name: string }) => {
      const { call, screen } = await client();
      const created = await call(Workflow, { method: 'POST', path: '/workflows', body: { name } });
      end(showRecord(screen, created, workflows.rows, json));
    });
  add(group, 'rename <workflow> <name>', 'give a workflow another name').action(
    async (id: string, name: string, { json }: Json) => {
      const { call, screen } = await client();
      end(showRecord(screen, await workflows.change(call, id, { name }), workflows.rows, json));
    },
  );
  addVersionCommands(group, parts);
};
