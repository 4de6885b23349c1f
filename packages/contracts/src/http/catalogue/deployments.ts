import { Type, type Static } from 'typebox';
import { GPU_MODELS } from '../../gpu.ts';
import { MAX_RUN_LIFETIME_S } from '../../limits.ts';
import { Archived, Name, NewName, RecordsQuery } from '../fields/names.ts';
import { NextCursor, Time, Uuid } from '../fields/values.ts';
import { nullable, optional } from '../fields/optional.ts';

const Environment = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'A word of yours, such as production or staging.',
});
const GPU = "For runs that name none; the machine's default when there is none.";
const Gpu = Type.Enum([...GPU_MODELS], { description: GPU });
const ClearedGpu = Type.Enum([...GPU_MODELS], { description: `${GPU} Null clears it.` });
const CONCURRENCY =
  'How many of its runs may execute at the same time; no limit when there is none. It is kept, and not enforced yet.';
const ConcurrencyLimit = Type.Integer({
  minimum: 1,
  maximum: 100_000,
  description: CONCURRENCY,
});
const RunTimeout = Type.Number({
  exclusiveMinimum: 0,
  maximum: MAX_RUN_LIFETIME_S,
  description: 'Seconds that an attempt of a run may execute.',
});
const StartDeadline = Type.Number({
  exclusiveMinimum: 0,
  maximum: MAX_RUN_LIFETIME_S,
  description: 'Seconds that a run may wait until it executes.',
});
const Retry = Type.Object(
  {
    attempts: Type.Integer({
      minimum: 1,
      maximum: 100,
      description: 'How often a run is begun before it is given up, when its executor is lost.',
    }),
  },
  { title: 'RetryPolicy' },
);

const lifetime = `Start deadline and run timeout, for each attempt, may come to ${MAX_RUN_LIFETIME_S} seconds together.`;

export const Deployment = Type.Object(
  {
    id: Uuid,
    org_id: Uuid,
    workflow_id: Uuid,
    workflow_version_id: Uuid,
    machine_id: Uuid,
    name: Name,
    environment: Environment,
    gpu: nullable(Gpu),
    concurrency_limit: nullable(ConcurrencyLimit),
    run_timeout_s: RunTimeout,
    start_deadline_s: StartDeadline,
    retry: Retry,
    archived: Archived,
    created_at: Time,
  },
  { title: 'Deployment', description: 'A run keeps the settings and the version that it was queued with.' },
);
export type Deployment = Static<typeof Deployment>;

const settings = {
  environment: optional({ ...Environment, default: 'production' }),
  gpu: optional(Gpu),
  concurrency_limit: optional(ConcurrencyLimit),
  run_timeout_s: optional({ ...RunTimeout, default: 3600 }),
  start_deadline_s: optional({ ...StartDeadline, default: 3600 }),
  retry: optional(Retry),
};

export const NewDeployment = Type.Object(
  {
    name: NewName,
    workflow_version_id: Uuid,
    machine_id: Uuid,
    ...settings,
  },
  { title: 'NewDeployment', description: `Three attempts when retry is left out. ${lifetime}` },
);

export const DeploymentChange = Type.Object(
  {
    name: optional(NewName),
    workflow_version_id: optional(Uuid),
    machine_id: optional(Uuid),
    environment: optional(Environment),
    gpu: optional(ClearedGpu),
    concurrency_limit: optional({
      ...ConcurrencyLimit,
      description: `${CONCURRENCY} Null clears it.`,
    }),
    run_timeout_s: optional(RunTimeout),
    start_deadline_s: optional(StartDeadline),
    retry: optional(Retry),
    archived: optional(Archived),
  },
  { title: 'DeploymentChange', description: `What is left out stays as it is. ${lifetime}` },
);

export const DeploymentPage = Type.Object(
  { deployments: Type.Array(Deployment), next_cursor: NextCursor },
  { title: 'DeploymentPage' },
);

export const DeploymentPath = Type.Object({ deployment_id: Uuid });

export const DeploymentsQuery = Type.Object({
  ...RecordsQuery.properties,
  workflow_id: Type.Optional(Uuid),
});
