import { Type, type Static } from 'typebox';
import { Archived, Name, NewName } from '../fields/names.ts';
import { NextCursor, Time, Uuid } from '../fields/values.ts';
import { optional } from '../fields/optional.ts';

export const Workflow = Type.Object(
  { id: Uuid, org_id: Uuid, name: Name, archived: Archived, created_at: Time },
  { title: 'Workflow' },
);
export type Workflow = Static<typeof Workflow>;

export const NewWorkflow = Type.Object({ name: NewName }, { title: 'NewWorkflow' });

export const WorkflowChange = Type.Object(
  { name: optional(NewName), archived: optional(Archived) },
  { title: 'WorkflowChange', description: 'Omitted members stay unchanged.' },
);

export const WorkflowPage = Type.Object(
  { workflows: Type.Array(Workflow), next_cursor: NextCursor },
  { title: 'WorkflowPage' },
);

export const WorkflowPath = Type.Object({ workflow_id: Uuid });
