import { WorkflowVersion, WorkflowVersionPage } from '@runledger/contracts/http/workflow-versions';
import type { ListedVersion } from '@runledger/contracts/http/workflow-versions';
import type { Command } from 'commander';
import { at } from '../api-call.ts';
import { plain } from '../plain-text.ts';
import type { Json, ProgramParts } from '../program-parts.ts';
import { addRecordList } from './record-commands.ts';
import { lastRows, listRecords, showRecord } from './records.ts';
import type { ListedRecords, RecordListOptions, SingleRecords } from './records.ts';

/** Those that are required are marked. */
const inputWords = ({ inputs }: Pick<ListedVersion, 'inputs'>): string =>
  inputs.map(({ name, required }) => (required ? `${name}*` : name)).join(', ');

const versionsOf = (workflow: string): SingleRecords<WorkflowVersion> & ListedRecords<ListedVersion> => ({
  what: 'Version',
  path: at`/workflows/${workflow}/versions`,
  ask: (call, request) => call(WorkflowVersion, request),
  askPage: async (call, request) => {
    const page = await call(WorkflowVersionPage, request);
    return { ...page, items: page.versions };
  },
  columns: [
    { title: 'ID', width: 36, of: ({ id }) => id },
    { title: 'NUMBER', width: 6, of: ({ number }) => String(number) },
    { title: 'CREATED', width: 24, of: ({ created_at }) => created_at },
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

interface PublishOptions extends Json {
  readonly file: string;
  readonly inputs?: string;
}

/** Of the versions of one workflow; they never change. */
export const addVersionCommands = (group: Command, parts: ProgramParts): void => {
  const { client, end, add } = parts;
  addRecordList(parts, group, 'versions <workflow>', 'list the versions of a workflow, newest first').action(
    async (workflow: string, options: RecordListOptions) =>
      end(await listRecords(await client(), versionsOf(workflow), options)),
  );
  add(group, 'publish <workflow>', 'make a new version of a workflow')
    .requiredOption('--file <file>', 'the workflow as JSON; - is standard input')
    .option('--inputs <file>', 'the list of its inputs as JSON: their names, types and defaults')
    .action(async (workflow: string, { file, inputs, json }: PublishOptions) => {
      const { call, screen, readJsonFile } = await client();
      const body = {
        workflow: await readJsonFile('--file', file),
        inputs: inputs === undefined ? undefined : await readJsonFile('--inputs', inputs),
      };
      const versions = versionsOf(workflow);
      const made = await versions.ask(call, { method: 'POST', path: versions.path, body });
      const code = showRecord(screen, versions, made, json);
      if (!json)
        screen.hint(
          `Runs use it once a deployment does: runledger deployments update DEPLOYMENT --version ${plain(made.id)}`,
        );
      end(code);
    });
};
