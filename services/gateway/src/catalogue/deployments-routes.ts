import {
  Deployment,
  DeploymentChange,
  DeploymentPage,
  DeploymentPath,
  DeploymentsQuery,
  NewDeployment,
} from '@runledger/contracts/http/catalogue/deployments';
import type { Deployment as StoredDeployment } from '@runledger/contracts/catalogue/records';
import type { Context } from 'koa';
import { warnOfShortage } from './warn-of-shortage.ts';
import { changeDeployment, createDeployment } from './deployments.ts';
import { shownDeployment } from './core/deployment.ts';
import type { DeploymentRefusal } from './core/deployment-rules.ts';
import { operation, route, type Route } from '../http/operation.ts';
import { cursorAt } from '../http/pagination.ts';
import { invalid, invalidRequest, Refused } from '../http/refusal.ts';
import {
  changed,
  created,
  deleted,
  found,
  newOrigin,
  type RecordRoutes,
  withinQuota,
} from './record-answers.ts';
import { checkRecordCursor, isNamed, recordSpan } from './record-lists.ts';

const tag = 'Catalogue';

const createDeploymentOperation = operation({
  id: 'createDeployment',
  method: 'POST',
  path: '/deployments',
  tag,
  summary: 'Create a deployment',
  description:
    'A workflow version on a machine, with the settings of its runs. Runs are queued on a deployment. When no executor that is there could take its runs, the header `Runledger-Warning` says why.',
  scope: 'admin',
  audit: { action: 'deployment.created' },
  request: { body: NewDeployment },
  response: {
    status: 201,
    description: 'The deployment.',
    body: Deployment,
    links: {
      to: ['getDeployment', 'changeDeployment', 'deleteDeployment'],
      parameters: { deployment_id: '/id' },
    },
  },
  refusals: [409],
});

const listDeployments = operation({
  id: 'listDeployments',
  method: 'GET',
  path: '/deployments',
  tag,
  summary: 'List deployments',
  description: 'Newest first.',
  scope: 'runs:read',
  request: { query: DeploymentsQuery },
  response: { status: 200, description: 'A page of deployments.', body: DeploymentPage },
  refusals: [],
});

const getDeployment = operation({
  id: 'getDeployment',
  method: 'GET',
  path: '/deployments/{deployment_id}',
  tag,
  summary: 'Read a deployment',
  scope: 'runs:read',
  request: { path: DeploymentPath },
  response: { status: 200, description: 'The deployment.', body: Deployment },
  refusals: [404],
});

const changeDeploymentOperation = operation({
  id: 'changeDeployment',
  method: 'PATCH',
  path: '/deployments/{deployment_id}',
  tag,
  summary: 'Change, archive or restore a deployment',
  description:
    'Queued runs keep the version and the settings that they were queued with. An archived deployment accepts no runs.',
  scope: 'admin',
  audit: { action: 'deployment.changed', target: 'deployment_id' },
  request: { path: DeploymentPath, body: DeploymentChange },
  response: { status: 200, description: 'The deployment as it is now.', body: Deployment },
  refusals: [404, 409],
});

const deleteDeploymentOperation = operation({
  id: 'deleteDeployment',
  method: 'DELETE',
  path: '/deployments/{deployment_id}',
  tag,
  summary: 'Delete a deployment',
  description:
    'It must have been archived for a minute. A deployment with runs in progress cannot be deleted. Runs that have ended keep showing its id, and cannot be run again.',
  scope: 'admin',
  audit: { action: 'deployment.deleted', target: 'deployment_id' },
  request: { path: DeploymentPath },
  response: { status: 204, description: 'The deployment is deleted.' },
  refusals: [404, 409],
});

export const deploymentRoutes = ({
  records,
  deletion,
  longestRun,
  scheduler,
  quotas,
  now,
}: RecordRoutes): Route[] => {
  const shownWithWarning = async (ctx: Context, deployment: StoredDeployment): Promise<Deployment> => {
    const machine = await records.machines.get(deployment.org_id, deployment.machine_id);
    if (machine && !deployment.archived) await warnOfShortage(ctx, scheduler, { deployment, machine });
    return shownDeployment(deployment);
  };
  return [
    route(createDeploymentOperation, async ({ body }, { org_id }, ctx) => {
      const result = await withinQuota(quotas.catalogue_records, { org_id }, () =>
        createDeployment({ records, longestRun }, lowerCase(body), newOrigin(org_id, now)),
      );
      return shownWithWarning(ctx, created(result, refusedDeployment));
    }),
    route(
      listDeployments,
      async ({ query }, { org_id }) => {
        const { workflow_id } = query;
        const page = await records.deployments.page(
          org_id,
          recordSpan(query),
          (one) => isNamed(query)(one) && (workflow_id === undefined || one.workflow_id === workflow_id),
        );
        return { deployments: page.items.map(shownDeployment), next_cursor: cursorAt(page.end) };
      },
      checkRecordCursor,
    ),
    route(getDeployment, async ({ path }, { org_id }) =>
      shownDeployment(found(await records.deployments.get(org_id, path.deployment_id), 'Deployment')),
    ),
    route(changeDeploymentOperation, async ({ path, body }, { org_id }, ctx) => {
      const result = await changeDeployment(
        { records, longestRun },
        { org_id, id: path.deployment_id },
        lowerCase(body),
      );
      return shownWithWarning(ctx, changed(result, 'Deployment', refusedDeployment));
    }),
    route(deleteDeploymentOperation, async ({ path }, { org_id }) =>
      deleted(await deletion.deployment(org_id, path.deployment_id), 'Deployment'),
    ),
  ];
};

interface Names {
  readonly workflow_version_id?: string | null;
  readonly machine_id?: string | null;
}

/** UUIDs are accepted in either case. Keys have them in lower case. */
const lowerCase = <Body extends Names>(body: Body): Body => ({
  ...body,
  ...(typeof body.machine_id === 'string' ? { machine_id: body.machine_id.toLowerCase() } : {}),
  ...(typeof body.workflow_version_id === 'string'
    ? { workflow_version_id: body.workflow_version_id.toLowerCase() }
    : {}),
});

export const refusedDeployment = (refusal: DeploymentRefusal): Refused => {
  switch (refusal.kind) {
    case 'not_restorable':
      return new Refused({ code: 'deployment_not_restorable', why: refusal.why });
    case 'invalid': {
      const problems = refusal.wrong.map(({ member, index, why }) =>
        invalid(
          ['body', ...[member, index].filter((part) => part !== undefined)],
          'value_error',
          `Value error, ${why}`,
        ),
      );
      return invalidRequest(...problems);
    }
  }
};
