import { DeploymentPlan } from '@runledger/contracts/http/catalogue/deployments';
import { jsonBytes } from '@runledger/contracts/json';
import { runnerKindOf, type Runner, type RunnerChoice } from '@runledger/contracts/catalogue/runners';
import { newUuid, type OrgId } from '@runledger/contracts/ids';
import type { Static } from 'typebox';
import { operation, route, type Route } from '../../door/operation.ts';
import { found, invalid, invalidRequest } from '../../door/refusal.ts';
import { changedDeployment, newDeployment } from './deployment.decide.ts';
import type { DeploymentParts } from './deployment-rules.decide.ts';
import { partsOf, refusedDeployment } from './deployments.ts';
import {
  newIdentity,
  withinRecordQuota,
  withinWorkflowQuota,
  type CatalogueOperations,
} from './record-answers.ts';
import { checkNewVersion } from './versions.ts';
import type { Kit } from '../../kit.ts';

const checkDeploymentOperation = operation({
  id: 'checkDeployment',
  method: 'POST',
  path: '/deployments/check',
  tag: 'Catalogue',
  summary: 'Check a deployment before it is made',
  description:
    'Refuses what the requests would be refused for that make or change the deployment, its version and its machine, and the workflow of these. Nothing is stored.',
  scope: 'admin',
  audit: { unrecorded: 'it changes nothing' },
  request: { body: DeploymentPlan },
  response: { status: 204, description: 'All of it can be made.' },
  refusals: [404, 409],
});

export const checkDeploymentRoute = ({ now }: Kit, operations: CatalogueOperations): Route =>
  route(
    checkDeploymentOperation,
    async ({ body }, { org_id }) => {
      const { records, quotas } = operations;
      const { deployment_id, machine: _machine, name, ...plan } = body;
      const present =
        typeof deployment_id === 'string'
          ? found(await records.deployments.get(org_id, deployment_id.toLowerCase()), 'Deployment')
          : undefined;
      if (present === undefined && typeof name !== 'string')
        throw invalidRequest(invalid(['body', 'name'], 'missing', 'This is required: send it'));
      const parts = await plannedParts(operations, org_id, body);
      const asked = { ...plan, workflow_version_id: NEW, machine_id: NEW };
      const decided = present
        ? changedDeployment(present, asked, parts)
        : newDeployment({ ...asked, name: name ?? '' }, parts, newIdentity(org_id, now));
      if (decided.kind === 'refused') throw refusedDeployment(decided.why);
      const bytes = plan.workflow === undefined ? 0 : jsonBytes(plan.workflow) + jsonBytes(plan.inputs ?? []);
      await withinRecordQuota(quotas, org_id, recordsOf(body), () =>
        withinWorkflowQuota(quotas, org_id, bytes, async () => null),
      );
      return undefined;
    },
    checkNewVersion,
  );

/** How many records would be made. */
const recordsOf = ({
  deployment_id,
  workflow_id,
  machine_id,
  workflow,
  machine,
}: Static<typeof DeploymentPlan>): number =>
  (workflow === undefined ? 0 : typeof workflow_id === 'string' ? 1 : 2) +
  (machine && typeof machine_id !== 'string' ? 1 : 0) +
  (typeof deployment_id === 'string' ? 0 : 1);

/** Of a record that would be made. */
const NEW = newUuid();

/** What is there by its present state, and what would be made as it would be. */
const plannedParts = async (
  operations: CatalogueOperations,
  org_id: OrgId,
  { deployment_id, workflow_version_id, machine_id, machine }: Static<typeof DeploymentPlan>,
): Promise<DeploymentParts> => {
  const present = await partsOf(operations, org_id, {
    workflow_version_id: workflow_version_id?.toLowerCase() ?? NEW,
    machine_id: machine_id?.toLowerCase() ?? NEW,
    ...(typeof deployment_id === 'string' && { id: deployment_id.toLowerCase() }),
  });
  const isNewVersion = typeof workflow_version_id !== 'string';
  return {
    longestRunS: present.longestRunS,
    kept: present.kept,
    machine:
      typeof machine_id === 'string'
        ? present.machine
        : { archived: false, runner: runnerOf(machine?.runner ?? CODE) },
    version: isNewVersion ? { workflow_id: NEW, archived: false } : present.version,
    workflow: isNewVersion ? { archived: false } : present.workflow,
  };
};

const runnerOf = (runner: Runner): RunnerChoice => runnerKindOf(runner).choiceOf(runner);
const CODE: Runner = { kind: 'code' };
