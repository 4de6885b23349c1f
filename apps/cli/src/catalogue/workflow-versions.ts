import { WorkflowVersion, WorkflowVersionPage } from '@runledger/contracts/http/catalogue/workflow-versions';
import type { ListedVersion } from '@runledger/contracts/http/catalogue/workflow-versions';
import { at } from '../api-client/api-call.ts';
import { lastRows } from './records.ts';
import type { ListedRecords, SingleRecords } from './records.ts';

/** `*` marks required inputs. */
const inputWords = ({ inputs }: Pick<ListedVersion, 'inputs'>): string =>
  inputs.map(({ name, required }) => (required ? `${name}*` : name)).join(', ');

/** The versions of a workflow. A list shows them without their JSON. */
export const versionsOf = (
  workflow: string,
): SingleRecords<WorkflowVersion> & ListedRecords<ListedVersion> => ({
  what: 'Version',
  path: at`/workflows/${workflow}/versions`,
  send: (call, request) => call(WorkflowVersion, request),
  readPage: async (call, request) => {
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
