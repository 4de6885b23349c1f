import { NamedRecordsQuery } from '@runledger/contracts/http/fields';
import {
  NewWorkflow,
  Workflow,
  WorkflowChange,
  WorkflowPage,
  WorkflowPath,
} from '@runledger/contracts/http/catalogue/workflows';
import { changeUnlessUsed } from './catalogue.ts';
import { route, type Route } from '../../door/operation.ts';
import { cursorAt } from '../../door/pagination.ts';
import { found, type Conflict } from '../../door/refusal.ts';
import {
  changed,
  refusedBy,
  recordOperations,
  deleted,
  newIdentity,
  withinRecordQuota,
  checkRecordCursor,
  isNamed,
  recordSpan,
  type CatalogueOperations,
} from './record-answers.ts';
import type { Kit } from '../../kit.ts';

const operations = recordOperations(
  'workflow',
  {
    path: WorkflowPath,
    query: NamedRecordsQuery,
    page: WorkflowPage,
    shown: Workflow,
    create: NewWorkflow,
    change: WorkflowChange,
  },
  {
    tag: 'Catalogue',
    summaries: {
      change: 'Rename, archive or restore a workflow',
      delete: 'Delete a workflow with its newest version',
    },
    descriptions: {
      create: 'A name for a series of versions. A run executes one version.',
      change:
        'An archived workflow gets no new versions and no new deployments. One that a deployment uses cannot be archived.',
      delete:
        'It must have been archived for a minute. Its other versions, and the deployments that use it, must be deleted first, and no run in progress may use it.',
    },
    links: ['createWorkflowVersion', 'listWorkflowVersions'],
    conflicts: [409],
  },
);

export const workflowRoutes = (
  { now }: Kit,
  { records: { workflows, deployments }, deletion, quotas }: CatalogueOperations,
): Route[] => [
  route(operations.create, async ({ body }, { org_id }) => {
    const workflow = { ...newIdentity(org_id, now), name: body.name, archived: false };
    const result = await withinRecordQuota(quotas, org_id, 1, () => workflows.create<Conflict>(workflow));
    return changed(result, 'Workflow', refusedBy);
  }),
  route(
    operations.list,
    async ({ query }, { org_id }) => {
      const page = await workflows.page(org_id, recordSpan(query), isNamed(query));
      return { workflows: [...page.items], next_cursor: cursorAt(page.end) };
    },
    checkRecordCursor,
  ),
  route(operations.get, async ({ path }, { org_id }) =>
    found(await workflows.get(org_id, path.workflow_id), 'Workflow'),
  ),
  route(operations.change, async ({ path, body }, { org_id }) => {
    const result = await workflows.change(org_id, path.workflow_id, (workflow) =>
      changeUnlessUsed(deployments, 'workflow_id', workflow, {
        ...workflow,
        name: body.name ?? workflow.name,
        archived: body.archived ?? workflow.archived,
      }),
    );
    return changed(result, 'Workflow', refusedBy);
  }),
  route(operations.delete, async ({ path }, { org_id }) =>
    deleted(await deletion.workflow(org_id, path.workflow_id), 'Workflow'),
  ),
];
