import type { ExecutingRun } from '@runledger/contracts/fold/run';
import type { JsonValue } from '@runledger/contracts/json';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { AssignedJson } from './fetch-route.ts';

/** The workflow version that the run was queued with. */
export const workflowOf =
  ({ getWorkflowVersion }: Pick<Catalogue, 'getWorkflowVersion'>) =>
  async ({ org_id, request }: ExecutingRun): Promise<AssignedJson> => {
    const version = await getWorkflowVersion(org_id, request.workflow_version_id);
    return version
      ? found(version.workflow)
      : { kind: 'gone', why: versionGone(request.workflow_version_id) };
  };

/** The inputs that the run was queued with. */
export const inputsOf = async ({ request }: ExecutingRun): Promise<AssignedJson> => found(request.inputs);

const found = (value: JsonValue): AssignedJson => ({
  kind: 'found',
  text: new TextEncoder().encode(JSON.stringify(value)),
});

const versionGone = (id: string): string =>
  `Workflow version ${id}, which this run was queued with, is no longer in the catalogue. ` +
  'Deploy the workflow again, and queue the run on the new deployment.';
