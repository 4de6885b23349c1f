import { allRead } from '@runledger/contracts/all-read';
import {
  Deployment,
  DeploymentChange,
  DeploymentPage,
  DeploymentPath,
  DeploymentReady,
  DeploymentsQuery,
  NewDeployment,
} from '@runledger/contracts/http/catalogue/deployments';
import type {
  Deployment as StoredDeployment,
  Deployment as DeploymentRecord,
} from '@runledger/contracts/catalogue/records';
import type { Context } from 'koa';
import { WARNING_HEADER } from '@runledger/contracts/http/headers';
import type { ShortageResponse } from '@runledger/contracts/requests/executors';
import { runnerKindOf } from '@runledger/contracts/catalogue/runners';
import {
  changedDeployment,
  deploymentResponse,
  gpusOf,
  newDeployment,
  type Placed,
} from './deployment.decide.ts';
import { whyApart, type DeploymentRefusal, type DeploymentParts } from './deployment-rules.decide.ts';
import { operation, route, type Route } from '../../door/operation.ts';
import { cursorAt } from '../../door/pagination.ts';
import { found, wrongValue, invalidRequest, Refused } from '../../door/refusal.ts';
import {
  changed,
  recordOperations,
  deleted,
  newIdentity,
  withinRecordQuota,
  checkRecordCursor,
  isNamed,
  recordSpan,
  type CatalogueOperations,
} from './record-answers.ts';
import type { RecordIdentity, ChangedRecord, CreatedRecord } from './records.ts';
import { executorId, executorName } from '@runledger/contracts/ids';
import { SchedulerUnavailable, type SchedulerClient } from '../operators/scheduler-client.ts';
import { pathText } from '../../door/unknown-names.ts';
import type { Kit } from '../../kit.ts';

const describedOperations = recordOperations(
  'deployment',
  {
    path: DeploymentPath,
    query: DeploymentsQuery,
    page: DeploymentPage,
    shown: Deployment,
    create: NewDeployment,
    change: DeploymentChange,
  },
  {
    tag: 'Catalogue',
    summaries: { change: 'Change, archive or restore a deployment' },
    descriptions: {
      create:
        'A workflow version on a machine, with the settings of its runs. Runs are queued on a deployment. When no executor that is there could take its runs, the header `Runledger-Warning` says why.',
      change:
        'Queued runs keep the version and the settings that they were queued with. An archived deployment accepts no runs.',
      delete:
        'It must have been archived for a minute. A deployment with runs in progress cannot be deleted. Runs that have ended keep showing its id, and cannot be run again.',
    },
    conflicts: [409],
  },
);

const readyOperation = operation({
  id: 'getDeploymentReady',
  method: 'GET',
  path: '/deployments/{deployment_id}/ready',
  tag: 'Catalogue',
  summary: 'Read what is kept ready',
  description:
    'Where the version of the deployment is prepared and loaded before its runs come, as `keep_prepared` and `keep_loaded` say, and how far that is.',
  scope: 'runs:read',
  request: { path: DeploymentPath },
  response: { status: 200, description: 'What is kept ready now.', body: DeploymentReady },
  refusals: [404],
});

export const deploymentRoutes = ({ now }: Kit, operations: CatalogueOperations): Route[] => {
  const { records, deletion, scheduler, quotas } = operations;
  const shownWithWarning = async (ctx: Context, deployment: StoredDeployment): Promise<Deployment> => {
    const machine = await records.machines.get(deployment.org_id, deployment.machine_id);
    if (machine && !deployment.archived) await warnOfShortage(ctx, scheduler, { deployment, machine });
    return deploymentResponse(deployment);
  };
  return [
    route(describedOperations.create, async ({ body }, { org_id }, ctx) => {
      const result = await withinRecordQuota(quotas, org_id, 1, () =>
        createDeployment(operations, lowerCase(body), newIdentity(org_id, now)),
      );
      return shownWithWarning(ctx, changed(result, 'Deployment', refusedDeployment));
    }),
    route(
      describedOperations.list,
      async ({ query }, { org_id }) => {
        const { workflow_id, name, archived, limit, cursor, ...unread } = query;
        allRead(unread);
        const page = await records.deployments.page(
          org_id,
          recordSpan({ archived, limit, cursor }),
          (one) => isNamed({ name })(one) && (workflow_id === undefined || one.workflow_id === workflow_id),
        );
        return { deployments: page.items.map(deploymentResponse), next_cursor: cursorAt(page.end) };
      },
      checkRecordCursor,
    ),
    route(describedOperations.get, async ({ path }, { org_id }) =>
      deploymentResponse(found(await records.deployments.get(org_id, path.deployment_id), 'Deployment')),
    ),
    route(readyOperation, async ({ path }, { org_id }) =>
      readyResponse(
        operations,
        found(await records.deployments.get(org_id, path.deployment_id), 'Deployment'),
      ),
    ),
    route(describedOperations.change, async ({ path, body }, { org_id }, ctx) => {
      const result = await changeDeployment(operations, { org_id, id: path.deployment_id }, lowerCase(body));
      return shownWithWarning(ctx, changed(result, 'Deployment', refusedDeployment));
    }),
    route(describedOperations.delete, async ({ path }, { org_id }) =>
      deleted(await deletion.deployment(org_id, path.deployment_id), 'Deployment'),
    ),
  ];
};

/** @throws {LogUnavailable} @throws {Refused} without a scheduler */
const readyResponse = async (
  { ready }: CatalogueOperations,
  deployment: DeploymentRecord,
): Promise<DeploymentReady> => {
  const [places = []] = await ready.keep([deployment]);
  return {
    workflow_version_id: deployment.workflow_version_id,
    keep_prepared: deployment.keep_prepared ?? 0,
    keep_loaded: deployment.keep_loaded ?? 0,
    executors: places.map(({ executor_id, slots, found: has }) => ({
      executor: executorName(executorId(executor_id)),
      state: has?.executor.state ?? null,
      why: has?.executor.why ?? null,
      slots: slots.flatMap((slot, at) => {
        const one = has?.slots[at];
        return one ? [{ slot, ...one }] : [];
      }),
    })),
  };
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
        wrongValue(['body', ...[member, index].filter((part) => part !== undefined)], why),
      );
      return invalidRequest(...problems);
    }
  }
};

/** @throws {LogUnavailable} */
const createDeployment = async (
  parts: CatalogueOperations,
  request: NewDeployment,
  origin: RecordIdentity,
): Promise<CreatedRecord<DeploymentRecord, DeploymentRefusal>> => {
  const { org_id, id } = origin;
  const decide = async () => newDeployment(request, await partsOf(parts, org_id, { ...request, id }), origin);
  const decided = await decide();
  if (decided.kind === 'refused') return decided;
  await parts.ready.note(decided.record);
  return parts.records.deployments.create(decided.record, async () => {
    const again = await decide();
    return again.kind === 'refused' ? again.why : undefined;
  });
};

/** @throws {LogUnavailable} */
const changeDeployment = (
  parts: CatalogueOperations,
  { org_id, id }: Pick<RecordIdentity, 'org_id' | 'id'>,
  change: DeploymentChange,
): Promise<ChangedRecord<DeploymentRecord, DeploymentRefusal>> =>
  parts.records.deployments.change<DeploymentRefusal>(org_id, id, async (deployment) => {
    const named = {
      machine_id: change.machine_id ?? deployment.machine_id,
      workflow_version_id: change.workflow_version_id ?? deployment.workflow_version_id,
    };
    const decided = changedDeployment(deployment, change, await partsOf(parts, org_id, { ...named, id }));
    if (decided.kind === 'changed') await parts.ready.note(decided.record);
    return decided;
  });

/** @throws {LogUnavailable} */
export const partsOf = async (
  { records: { machines, versions, workflows }, longestRun, ready }: CatalogueOperations,
  org: string,
  named: Pick<DeploymentRecord, 'machine_id' | 'workflow_version_id'> & { readonly id?: string },
): Promise<DeploymentParts> => {
  const [longestRunS, kept, machine, version] = await Promise.all([
    longestRun(),
    ready.bound(org, named.id),
    machines.get(org, named.machine_id),
    versions.get(org, named.workflow_version_id),
  ]);
  const apart = version && machine && whyApart(version, machine);
  return {
    longestRunS,
    kept,
    machine,
    version,
    ...(apart !== undefined && { apart }),
    workflow: version && (await workflows.get(org, version.workflow_id)),
  };
};

/** Says in the response when no executor that is there could take runs of a deployment. Nothing without a scheduler, who knows it. */
const warnOfShortage = async (ctx: Context, scheduler: SchedulerClient, placed: Placed): Promise<void> => {
  const { deployment, machine } = placed;
  try {
    const { shortage } = await scheduler.shortage({
      org_id: deployment.org_id,
      gpus: gpusOf(placed),
      machine_id: machine.id,
      machine_name: machine.name,
      runner: machine.runner,
      labels: deployment.labels ?? [],
    });
    if (shortage !== null) ctx.append(WARNING_HEADER, sentence(shortage, placed));
  } catch (error) {
    if (!(error instanceof SchedulerUnavailable)) throw error;
  }
};

/** It has no comma, which separates warnings. */
const sentence = (shortage: NonNullable<ShortageResponse['shortage']>, placed: Placed): string =>
  `runs of this deployment will wait: ${why(shortage, placed)}`;

const why = (shortage: NonNullable<ShortageResponse['shortage']>, placed: Placed): string => {
  const { deployment, machine } = placed;
  const gpus = gpusOf(placed).join(' or ');
  switch (shortage) {
    case 'no_executor':
      return 'no executor is there now';
    case 'no_gpu':
      return `no executor that is there has the GPU ${gpus}`;
    case 'not_served':
      return `no executor that has the GPU ${gpus} serves machine ${named(machine.name)}`;
    case 'no_runner': {
      const offers = runnerKindOf(machine.runner).offers(machine.runner, named);
      return `no executor that has the GPU ${gpus} and serves the machine ${offers}`;
    }
    case 'no_label':
      return `no executor that could execute them has the labels ${(deployment.labels ?? []).map(named).join(' and ')}`;
  }
};

const named = (name: string): string => pathText([name]);
