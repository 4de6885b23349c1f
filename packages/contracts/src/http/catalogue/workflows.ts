import { Type, type Static } from 'typebox';
import { Archived, Name, NewName } from '../fields/names.ts';
import { OrganisationUuid, WorkflowUuid } from '../fields/ids.ts';
import { CreatedAt, NextCursor } from '../fields/values.ts';
import { unchanged } from '../fields/optional.ts';

export const Workflow = Type.Object(
  {
    id: WorkflowUuid,
    org_id: OrganisationUuid,
    name: Name,
    archived: Archived,
    created_at: CreatedAt,
  },
  { title: 'Workflow', description: 'What its versions have in common. A version has what is executed.' },
);
export type Workflow = Static<typeof Workflow>;

export const NewWorkflow = Type.Object(
  { name: NewName },
  {
    title: 'NewWorkflow',
    description: 'A workflow without versions.',
    examples: [{ name: 'portraits' }],
  },
);

export const WorkflowChange = Type.Object(
  { name: unchanged(NewName), archived: unchanged(Archived) },
  {
    title: 'WorkflowChange',
    description: 'Omitted members stay unchanged.',
    examples: [{ name: 'portraits' }],
  },
);

export const WorkflowPage = Type.Object(
  { workflows: Type.Array(Workflow, { description: 'The newest first.' }), next_cursor: NextCursor },
  { title: 'WorkflowPage', description: 'A page of workflows.' },
);

export const WorkflowPath = Type.Object({ workflow_id: WorkflowUuid });
