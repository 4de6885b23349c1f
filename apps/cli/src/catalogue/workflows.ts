import { Workflow, WorkflowPage } from '@runledger/contracts/http/catalogue/workflows';
import type { Command } from 'commander';
import type { Json, CommandContext } from '../command/command-context.ts';
import { addRecordCommands, addRecordList } from './record-commands.ts';
import { changeRecord, createRecord, firstRows, lastRows, listRecords } from './records.ts';
import { idByName } from './named-records.ts';
import type { ListedRecords, RecordKind, RecordListOptions } from './records.ts';
import { addVersionCommands } from './version-commands.ts';

const listed: Pick<ListedRecords<Workflow>, 'what' | 'path' | 'readPage'> = {
  what: 'Workflow',
  path: '/workflows',
  readPage: async (call, request) => {
    const page = await call(WorkflowPage, request);
    return { ...page, items: page.workflows };
  },
};

export const workflows: RecordKind<Workflow> = {
  ...listed,
  idOf: idByName(listed),
  send: (call, request) => call(Workflow, request),
  columns: [
    { title: 'ID', width: 36, of: ({ id }) => id },
    { title: 'CREATED', width: 24, is: 'time', of: ({ created_at }) => created_at },
    { title: 'NAME', width: 0, of: ({ name }) => name },
  ],
  rows: (workflow) => [...firstRows(workflow), ...lastRows(workflow)],
  nameOf: ({ name }) => name,
};

/** The workflows of an organisation, and their versions. */
export const addWorkflowCommands = (program: Command, parts: CommandContext): void => {
  const { client, end, add } = parts;
  const group = program.command('workflows').description('workflows and their versions');
  addRecordList(parts, group, { name: 'list', description: 'list workflows, newest first' }).action(
    async (options: RecordListOptions) => end(await listRecords(await client(), workflows, options)),
  );
  addRecordCommands(parts, group, workflows);
  add(group, 'create', 'make a workflow without a version')
    .requiredOption('--name <name>', 'for people')
    .action(async ({ name, json }: Json & { readonly name: string }) =>
      end(await createRecord(await client(), workflows, { body: { name }, json })),
    );
  add(group, 'rename <workflow> <name>', 'give a workflow another name').action(
    async (given: string, name: string, { json }: Json) =>
      end(await changeRecord(await client(), workflows, { given, change: { name }, json })),
  );
  addVersionCommands(group, parts, workflows.idOf);
};
