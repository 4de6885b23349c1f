import { NamedRecordsQuery } from '@runledger/contracts/http/fields';
import {
  NewWorkflow,
  Workflow,
  WorkflowChange,
  WorkflowPage,
  WorkflowPath,
} from '@runledger/contracts/http/catalogue/workflows';
import { decideArchiving } from './catalogue.ts';
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
import type { Workflow as WorkflowRecord } from '@runledger/contracts/catalogue/records';
import type { Omitted, RecordOrigin } from './records.ts';
import type { Kit } from '../../kit.ts';

const tag = 'Catalogue';

const createWorkflow = operation({
  id: 'createWorkflow',
  method: 'POST',
  path: '/workflows',
  tag,
  summary: 'Create a workflow',
  description: 'A name for a series of versions. A run executes one version.',
  scope: 'admin',
  audit: { action: 'workflow.created' },
  request: { body: NewWorkflow },
  response: {
    status: 201,
    description: 'The workflow.',
    body: Workflow,
    links: {
      to: [
        'getWorkflow',
        'changeWorkflow',
        'deleteWorkflow',
        'createWorkflowVersion',
        'listWorkflowVersions',
      ],
      parameters: { workflow_id: '/id' },
    },
  },
  refusals: [409],
});

const listWorkflows = operation({
  id: 'listWorkflows',
  method: 'GET',
  path: '/workflows',
  tag,
  summary: 'List workflows',
  description: 'Newest first.',
  scope: 'runs:read',
  request: { query: NamedRecordsQuery },
  response: { status: 200, description: 'A page of workflows.', body: WorkflowPage },
  refusals: [],
});

const getWorkflow = operation({
  id: 'getWorkflow',
  method: 'GET',
  path: '/workflows/{workflow_id}',
  tag,
  summary: 'Read a workflow',
  scope: 'runs:read',
  request: { path: WorkflowPath },
  response: { status: 200, description: 'The workflow.', body: Workflow },
  refusals: [404],
});

const changeWorkflow = operation({
  id: 'changeWorkflow',
  method: 'PATCH',
  path: '/workflows/{workflow_id}',
  tag,
  summary: 'Rename, archive or restore a workflow',
  description:
    'An archived workflow gets no new versions and no new deployments. One that a deployment uses cannot be archived.',
  scope: 'admin',
  audit: { action: 'workflow.changed', target: 'workflow_id' },
  request: { path: WorkflowPath, body: WorkflowChange },
  response: { status: 200, description: 'The workflow as it is now.', body: Workflow },
  refusals: [404, 409],
});

const deleteWorkflow = operation({
  id: 'deleteWorkflow',
  method: 'DELETE',
  path: '/workflows/{workflow_id}',
  tag,
  summary: 'Delete a workflow with its newest version',
  description:
    'It must have been archived for a minute. Its other versions, and the deployments that use it, must be deleted first, and no run in progress may use it.',
  scope: 'admin',
  audit: { action: 'workflow.deleted', target: 'workflow_id' },
  request: { path: WorkflowPath },
  response: { status: 204, description: 'The workflow is deleted.' },
  refusals: [404, 409],
});

export const workflowRoutes = (
  { now }: Kit,
  { records: { workflows, deployments }, deletion, quotas }: CatalogueOperations,
): Route[] => [
  route(createWorkflow, async ({ body }, { org_id }) => {
    const workflow = newWorkflow(body, newOrigin(org_id, now));
    const result = await withinQuota(quotas.catalogue_records, { org_id }, () =>
      workflows.create<Conflict>(workflow),
    );
    return created(result, refusedBy);
  }),
  route(
    listWorkflows,
    async ({ query }, { org_id }) => {
      const page = await workflows.page(org_id, recordSpan(query), isNamed(query));
      return { workflows: [...page.items], next_cursor: cursorAt(page.end) };
    },
    checkRecordCursor,
  ),
  route(getWorkflow, async ({ path }, { org_id }) =>
    found(await workflows.get(org_id, path.workflow_id), 'Workflow'),
  ),
  route(changeWorkflow, async ({ path, body }, { org_id }) => {
    const result = await workflows.change(org_id, path.workflow_id, (workflow) =>
      decideArchiving(deployments, 'workflow_id', workflow, changedWorkflow(workflow, body)),
    );
    return changed(result, 'Workflow', refusedBy);
  }),
  route(deleteWorkflow, async ({ path }, { org_id }) =>
    deleted(await deletion.workflow(org_id, path.workflow_id), 'Workflow'),
  ),
];

interface WorkflowChange {
  readonly name?: string | Omitted;
  readonly archived?: boolean | Omitted;
}

const newWorkflow = ({ name }: { readonly name: string }, origin: RecordOrigin): WorkflowRecord => ({
  ...origin,
  name,
  archived: false,
});

const changedWorkflow = (workflow: WorkflowRecord, change: WorkflowChange): WorkflowRecord => ({
  ...workflow,
  name: change.name ?? workflow.name,
  archived: change.archived ?? workflow.archived,
});
