import { WorkflowVersion, WorkflowVersionPage } from '@runledger/contracts/http/catalogue/workflow-versions';
import type { ListedVersion } from '@runledger/contracts/http/catalogue/workflow-versions';
import { at } from '../api-client/api-call.ts';
import { idByNumber } from './version-id.ts';
import { lastRows } from './records.ts';
import type { ListedRecords, SingleRecords } from './records.ts';

/** `*` marks required inputs. */
const inputWords = ({ inputs }: Pick<ListedVersion, 'inputs'>): string =>
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
