import {
  Workflow,
  WorkflowPage,
  WorkflowVersion,
  WorkflowVersionPage,
  type ListedVersion,
} from '@runledger/contracts/http/catalogue/workflows';
import type { Command } from 'commander';
import { isUuid } from '@runledger/contracts/ids';
import type { CommandContext, Client } from '../command/command-context.ts';
import type { Screen } from '../command/screen.ts';
import { addRecordCommands, addRecordList, namedKind } from './named-records.ts';
import {
  firstRows,
  lastRows,
  changeRecord,
  createRecord,
  listRecords,
  type ListedRecords,
  pagesOf,
  type RecordListOptions,
  archiveRecord,
  deleteRecord,
  readRecord,
  showRecord,
  type SingleRecords,
} from './records.ts';
import { plain, CommandError } from '../command/command-error.ts';
import { at, type ApiCall, pages } from '../api/api-call.ts';

export const workflows = namedKind<Workflow>({
  what: 'Workflow',
  path: '/workflows',
  readPage: pagesOf(WorkflowPage, (page) => page.workflows),
  send: (call, request) => call(Workflow, request),
  columns: [
    { title: 'ID', width: 36, of: ({ id }) => id },
    { title: 'CREATED', width: 24, is: 'time', of: ({ created_at }) => created_at },
    { title: 'NAME', width: 0, of: ({ name }) => name },
  ],
  rows: (workflow) => [...firstRows(workflow), ...lastRows(workflow)],
});

/** The workflows of an organisation, and their versions. */
export const addWorkflowCommands = (program: Command, parts: CommandContext): void => {
  const { withClient, add } = parts;
  const group = program.command('workflows').description('workflows and their versions');
  addRecordList(parts, group, { name: 'list', description: 'list workflows, newest first' }).action(
    withClient(async (opened, options: RecordListOptions) => listRecords(opened, workflows, options)),
  );
  addRecordCommands(parts, group, workflows);
  add(group, 'create', 'make a workflow without a version')
    .requiredOption('--name <name>', 'for people')
    .action(
      withClient(async (opened, { name }: { readonly name: string }) => {
        await createRecord(opened, workflows, { name });
      }),
    );
  add(group, 'rename <workflow> <name>', 'give a workflow another name').action(
    withClient(async (opened, given: string, name: string) =>
      changeRecord(opened, workflows, given, { name }),
    ),
  );
  addVersionCommands(group, parts);
};

/** Commands for the versions of a workflow. A version never changes, but can be archived. */
const addVersionCommands = (group: Command, parts: CommandContext): void => {
  const { client, add } = parts;
  const open = async (workflow: string) => {
    const opened = await client();
    return { opened, versions: versionsOf(await workflows.idOf(opened.call, workflow)) };
  };
  addRecordList(parts, group, {
    name: 'versions <workflow>',
    description: 'list the versions of a workflow, newest first',
  }).action(async (workflow: string, options: RecordListOptions) => {
    const { opened, versions } = await open(workflow);
    await listRecords(opened, versions, options);
  });
  add(group, 'publish <workflow>', 'make a new version of a workflow')
    .requiredOption('--file <file>', 'the workflow as JSON; - is standard input')
    .option('--inputs <file>', 'the list of its inputs as JSON: their names, types and defaults')
    .action(async (workflow: string, options: PublishOptions) => {
      const { opened, versions } = await open(workflow);
      await publishVersion(opened, versions, options);
    });

  const single = group.command('version').description('one version, by its number or its id');
  add(single, 'show <workflow> <version>', 'show a version')
    .option('--workflow', 'only the workflow itself, as JSON')
    .action(async (workflow: string, version: string, options: { readonly workflow?: boolean }) => {
      const { opened, versions } = await open(workflow);
      const item = await readRecord(opened.call, versions, version);
      if (options.workflow) printWorkflow(opened.screen, item);
      else await showRecord(opened, versions, item);
    });
  const addArchiving = (name: string, description: string, archived: boolean): void => {
    add(single, `${name} <workflow> <version>`, description).action(
      async (workflow: string, version: string) => {
        const { opened, versions } = await open(workflow);
        const restoredBy = ({ workflow_id, number }: WorkflowVersion): string =>
          `runledger workflows version restore ${workflow_id} ${number}`;
        await archiveRecord(opened, versions, version, { archived, restoredBy });
      },
    );
  };
  addArchiving('archive', 'archive a version: no new deployment can use it', true);
  addArchiving('restore', 'restore an archived version', false);
  add(
    single,
    'delete <workflow> <version>',
    'delete a version that was archived a minute ago and that nothing uses',
  ).action(async (workflow: string, version: string) => {
    const { opened, versions } = await open(workflow);
    await deleteRecord(opened, versions, version);
  });
};

interface PublishOptions {
  readonly file: string;
  readonly inputs?: string;
}

const publishVersion = async (
  client: Client,
  versions: SingleRecords<WorkflowVersion>,
  { file, inputs }: PublishOptions,
): Promise<void> => {
  const { screen, readJsonFile } = client;
  const made = await createRecord(client, versions, {
    workflow: await readJsonFile('--file', file),
    inputs: inputs === undefined ? undefined : await readJsonFile('--inputs', inputs),
  });
  if (screen.isTerminal && !screen.isJson())
    screen.hint(
      `Runs use it after a deployment does: runledger deployments update DEPLOYMENT --version ${plain(made.id)}`,
    );
};

/** To be deployed again, so its numbers are as they are. */
const printWorkflow = (screen: Screen, { workflow }: WorkflowVersion): void =>
  screen.print(screen.isJson() ? JSON.stringify(workflow) : JSON.stringify(workflow, null, 2));

/** `*` marks required inputs. */
const inputWords = ({ inputs }: ListedVersion): string =>
  inputs.map(({ name, required }) => (required ? `${name}*` : name)).join(', ');

const readPage = pagesOf(WorkflowVersionPage, (page) => page.versions);

/** The versions of the workflow with this id. A list shows them without their JSON. */
export const versionsOf = (
  workflow: string,
): SingleRecords<WorkflowVersion> & ListedRecords<ListedVersion> => ({
  what: 'Version',
  path: at`/workflows/${workflow}/versions`,
  readPage,
  idOf: idByNumber(workflow),
  send: (call, request) => call(WorkflowVersion, request),
  columns: [
    { title: 'ID', width: 36, of: ({ id }) => id },
    { title: 'NUMBER', width: 6, of: ({ number }) => String(number) },
    { title: 'CREATED', width: 24, is: 'time', of: ({ created_at }) => created_at },
    { title: 'SHA-256', width: 12, of: ({ sha256 }) => sha256.slice(0, 12) },
    { title: 'INPUTS', width: 0, of: inputWords },
  ],
  rows: (version) => [
    ['id', version.id],
    ['workflow', version.workflow_id],
    ['number', String(version.number)],
    ['sha256', version.sha256],
    ['inputs', inputWords(version) || null],
    ...lastRows(version),
  ],
  nameOf: ({ number }) => String(number),
});

const PAGE = 100;

/** Finds the id of a version of a workflow: what is given is its id or its number. @throws CommandError */
const idByNumber =
  (workflow: string): SingleRecords<unknown>['idOf'] =>
  async (call, given) => {
    if (isUuid(given)) return given;
    const list = `List them with: runledger workflows versions ${plain(workflow)}`;
    if (!/^[1-9]\d{0,8}$/.test(given))
      throw new CommandError(`${plain(given)} is neither the number nor the id of a version. ${list}`);
    const number = Number(given);
    const id =
      (await idOfNumber(call, workflow, { number, archived: false })) ??
      (await idOfNumber(call, workflow, { number, archived: true }));
    if (id !== undefined) return id;
    throw new CommandError(`The workflow has no version ${number}. ${list}, and with --archived`);
  };

interface NumberedVersion {
  readonly number: number;
  readonly archived: boolean;
}

/** The API lists either archived versions or the others. */
const idOfNumber = async (
  call: ApiCall,
  workflow: string,
  { number, archived }: NumberedVersion,
): Promise<string | undefined> => {
  const read = (cursor: string | undefined) =>
    readPage(call, {
      method: 'GET',
      path: at`/workflows/${workflow}/versions`,
      query: { archived, limit: PAGE, cursor },
    });
  for await (const { items } of pages(read)) {
    const found = items.find((item) => item.number === number);
    if (found !== undefined) return found.id;
    // The newest come first.
    if (items.some((item) => item.number < number)) return undefined;
  }
  return undefined;
};
