import {
  Workflow,
  WorkflowPage,
  WorkflowVersion,
  WorkflowVersionPage,
  type ListedVersion,
} from '@runledger/contracts/http/catalogue/workflows';
import type { Command } from 'commander';
import { isUuid } from '@runledger/contracts/ids';
import type { Json, CommandContext, Client } from '../command/command-context.ts';
import { addRecordCommands, addRecordList, idByName } from './named-records.ts';
import {
  changeRecord,
  createRecord,
  firstRows,
  lastRows,
  listRecords,
  type ListedRecords,
  type RecordKind,
  type RecordListOptions,
  archiveRecord,
  deleteRecord,
  readRecord,
  showCreated,
  showRecord,
  type SingleRecords,
} from './records.ts';
import { EXIT, type ExitCode, plain, CommandError } from '../command/command-error.ts';
import { at, type ApiCall, pages } from '../api/api-call.ts';

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

/** Commands for the versions of a workflow. A version never changes, but can be archived. */
const addVersionCommands = (
  group: Command,
  parts: CommandContext,
  workflowIdOf: SingleRecords<unknown>['idOf'],
): void => {
  const { client, end, add } = parts;
  const open = async (workflow: string) => {
    const opened = await client();
    return { opened, versions: versionsOf(await workflowIdOf(opened.call, workflow)) };
  };
  addRecordList(parts, group, {
    name: 'versions <workflow>',
    description: 'list the versions of a workflow, newest first',
  }).action(async (workflow: string, options: RecordListOptions) => {
    const { opened, versions } = await open(workflow);
    end(await listRecords(opened, versions, options));
  });
  add(group, 'publish <workflow>', 'make a new version of a workflow')
    .requiredOption('--file <file>', 'the workflow as JSON; - is standard input')
    .option('--inputs <file>', 'the list of its inputs as JSON: their names, types and defaults')
    .action(async (workflow: string, options: PublishOptions) => {
      const { opened, versions } = await open(workflow);
      end(await publishVersion(opened, versions, options));
    });

  const single = group.command('version').description('one version, by its number or its id');
  add(single, 'show <workflow> <version>', 'show a version')
    .option('--workflow', 'only the workflow itself, as JSON')
    .action(async (workflow: string, version: string, options: Json & { readonly workflow?: boolean }) => {
      const { opened, versions } = await open(workflow);
      end(await showVersion(opened, versions, { version, alone: options.workflow, json: options.json }));
    });
  const addArchiving = (name: string, description: string, archived: boolean): void => {
    add(single, `${name} <workflow> <version>`, description).action(
      async (workflow: string, version: string, { json = false }: Json) => {
        const { opened, versions } = await open(workflow);
        const restoredBy = ({ workflow_id, number }: WorkflowVersion): string =>
          `runledger workflows version restore ${workflow_id} ${number}`;
        end(await archiveRecord(opened, versions, { given: version, archived, restoredBy, json }));
      },
    );
  };
  addArchiving('archive', 'archive a version: no new deployment can use it', true);
  addArchiving('restore', 'restore an archived version', false);
  add(
    single,
    'delete <workflow> <version>',
    'delete a version that was archived a minute ago and that nothing uses',
  ).action(async (workflow: string, version: string, { json = false }: Json) => {
    const { opened, versions } = await open(workflow);
    end(await deleteRecord(opened, versions, { given: version, json }));
  });
};

interface PublishOptions extends Json {
  readonly file: string;
  readonly inputs?: string;
}

const publishVersion = async (
  { call, screen, readJsonFile }: Client,
  versions: SingleRecords<WorkflowVersion>,
  { file, inputs, json }: PublishOptions,
): Promise<ExitCode> => {
  const body = {
    workflow: await readJsonFile('--file', file),
    inputs: inputs === undefined ? undefined : await readJsonFile('--inputs', inputs),
  };
  const made = await versions.send(call, { method: 'POST', path: versions.path, body });
  const code = showCreated(screen, versions, { item: made, json });
  if (screen.isTerminal && !json)
    screen.hint(
      `Runs use it after a deployment does: runledger deployments update DEPLOYMENT --version ${plain(made.id)}`,
    );
  return code;
};

interface ShownVersion {
  readonly version: string;
  /** Only the workflow itself. */
  readonly alone: boolean | undefined;
  readonly json: boolean | undefined;
}

const showVersion = async (
  { call, screen }: Client,
  versions: SingleRecords<WorkflowVersion>,
  { version, alone, json }: ShownVersion,
): Promise<ExitCode> => {
  const item = await readRecord(call, versions, version);
  if (!alone) return showRecord(screen, versions, { item, json });
  // To be deployed again, so its numbers are as they are.
  screen.print(json ? JSON.stringify(item.workflow) : JSON.stringify(item.workflow, null, 2));
  return EXIT.done;
};

/** `*` marks required inputs. */
const inputWords = ({ inputs }: ListedVersion): string =>
  inputs.map(({ name, required }) => (required ? `${name}*` : name)).join(', ');

const listedOf = (workflow: string): Pick<ListedRecords<ListedVersion>, 'what' | 'path' | 'readPage'> => ({
  what: 'Version',
  path: at`/workflows/${workflow}/versions`,
  readPage: async (call, request) => {
    const page = await call(WorkflowVersionPage, request);
    return { ...page, items: page.versions };
  },
});

/** The versions of the workflow with this id. A list shows them without their JSON. */
export const versionsOf = (
  workflow: string,
): SingleRecords<WorkflowVersion> & ListedRecords<ListedVersion> => ({
  ...listedOf(workflow),
  idOf: idByNumber(listedOf(workflow), workflow),
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

type Versions = Pick<ListedRecords<ListedVersion>, 'path' | 'readPage'>;

/** Finds the id of a version of a workflow: what is given is its id or its number. @throws CommandError */
const idByNumber =
  (versions: Versions, workflow: string): SingleRecords<unknown>['idOf'] =>
  async (call, given) => {
    if (isUuid(given)) return given;
    const list = `List them with: runledger workflows versions ${plain(workflow)}`;
    if (!/^[1-9]\d{0,8}$/.test(given))
      throw new CommandError(`${plain(given)} is neither the number nor the id of a version. ${list}`);
    const number = Number(given);
    const id =
      (await idOfNumber(call, versions, { number, archived: false })) ??
      (await idOfNumber(call, versions, { number, archived: true }));
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
  { path, readPage }: Versions,
  { number, archived }: NumberedVersion,
): Promise<string | undefined> => {
  const read = (cursor: string | undefined) =>
    readPage(call, { method: 'GET', path, query: { archived, limit: PAGE, cursor } });
  for await (const { items } of pages(read)) {
    const found = items.find((item) => item.number === number);
    if (found !== undefined) return found.id;
    // The newest come first.
    if (items.some((item) => item.number < number)) return undefined;
  }
  return undefined;
};
