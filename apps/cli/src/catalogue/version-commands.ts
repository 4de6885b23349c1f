import type { WorkflowVersion } from '@runledger/contracts/http/catalogue/workflow-versions';
import type { Command } from 'commander';
import type { Client } from '../api-client/client.ts';
import { EXIT } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import type { Json, CommandContext } from '../command/command-context.ts';
import { addRecordList } from './record-commands.ts';
import { archiveRecord, deleteRecord, listRecords, readRecord, showCreated, showRecord } from './records.ts';
import type { RecordListOptions, SingleRecords } from './records.ts';
import { versionsOf } from './workflow-versions.ts';

/** Commands for the versions of a workflow. A version never changes, but can be archived. */
export const addVersionCommands = (
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
    .action(async (workflow: string, version: string, options: ShowOptions) => {
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

interface ShowOptions extends Json {
  /** Only the workflow itself. */
  readonly workflow?: boolean;
}

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
