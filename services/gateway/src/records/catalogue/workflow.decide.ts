import type { Workflow } from '@runledger/contracts/catalogue/records';
import type { Omitted, RecordOrigin } from './records.ts';

export interface WorkflowChange {
  readonly name?: string | Omitted;
  readonly archived?: boolean | Omitted;
}

export const newWorkflow = ({ name }: Pick<Workflow, 'name'>, origin: RecordOrigin): Workflow => ({
  ...origin,
  name,
  archived: false,
});

export const changedWorkflow = (workflow: Workflow, change: WorkflowChange): Workflow => ({
  ...workflow,
  name: change.name ?? workflow.name,
  archived: change.archived ?? workflow.archived,
});
