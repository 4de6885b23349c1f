import type { Command } from 'commander';
import type { Client } from '../api-client/client.ts';
import { EXIT } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import type { Json, CommandContext } from '../command/command-context.ts';
import { addRecordList } from './record-commands.ts';
import { archiveRecord, deleteRecord, listRecords, readRecord, showRecord } from './records.ts';
import type { RecordListOptions } from './records.ts';
import { versionIdOf } from './version-id.ts';
import { versionsOf } from './workflow-versions.ts';

/** Commands for the versions of a workflow. A version never changes, but can be archived. */
export const addVersionCommands = (group: Command, parts: CommandContext): void => {
  const { client, end, add } = parts;
  addRecordList(parts, group, {
    name: 'versions <workflow>',
    description: 'list the versions of a workflow, newest first',
  }).action(async (workflow: string, options: RecordListOptions) =>
    end(await listRecords(await client(), versionsOf(workflow), options)),
  );
  add(group, 'publish <workflow>', 'make a new version of a workflow')
    .requiredOption('--file <file>', 'the workflow as JSON; - is standard input')
    .option('--inputs <file>', 'the list of its inputs as JSON: their names, types and defaults')
    .action(async (workflow: string, options: PublishOptions) =>
      end(await publishVersion(await client(), workflow, options)),
    );

  const single = group.command('version').description('one version, by its number or its id');
  add(single, 'show <workflow> <version>', 'show a version')
    .option('--workflow', 'only the workflow itself, as JSON')
    .action(async (workflow: string, version: string, options: ShowOptions) =>
      end(
        await showVersion(await client(), { workflow, version, alone: options.workflow, json: options.json }),
      ),
    );
  const addArchiving = (name: string, description: string, archived: boolean): void => {
    add(single, `${name} <workflow> <version>`, description).action(
      async (workflow: string, version: string, { json = false }: Json) => {
        const opened = await client();
        const id = await versionIdOf(opened.call, workflow, version);
        const restoredBy = `runledger workflows version restore ${workflow} ${version}`;
        end(await archiveRecord(opened, versionsOf(workflow), { id, archived, restoredBy, json }));
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
    const opened = await client();
    const id = await versionIdOf(opened.call, workflow, version);
    end(await deleteRecord(opened, versionsOf(workflow), { id, json }));
  });
};

interface PublishOptions extends Json {
  readonly file: string;
  readonly inputs?: string;
}

const publishVersion = async (
  { call, screen, readJsonFile }: Client,
  workflow: string,
  { file, inputs, json }: PublishOptions,
): Promise<ExitCode> => {
  const body = {
    workflow: await readJsonFile('--file', file),
    inputs: inputs === undefined ? undefined : await readJsonFile('--inputs', inputs),
  };
  const versions = versionsOf(workflow);
  const made = await versions.send(call, { method: 'POST', path: versions.path, body });
  const code = showRecord(screen, versions, { item: made, json });
  if (!json)
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
  readonly workflow: string;
  readonly version: string;
  /** Only the workflow itself. */
  readonly alone: boolean | undefined;
  readonly json: boolean | undefined;
}

const showVersion = async (
  { call, screen }: Client,
  { workflow, version, alone, json }: ShownVersion,
): Promise<ExitCode> => {
  const versions = versionsOf(workflow);
  const item = await readRecord(call, versions, await versionIdOf(call, workflow, version));
  if (!alone) return showRecord(screen, versions, { item, json });
  if (json) screen.printJson(item.workflow);
  else screen.print(JSON.stringify(item.workflow, null, 2));
  return EXIT.done;
};
