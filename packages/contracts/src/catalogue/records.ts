import { Type, type Static } from 'typebox';
import { Sha256 } from '../blobs.ts';
import { StoredCode } from './code.ts';
import { StoredRetryOn } from '../events/run-error.ts';
import { IfNoOutput } from '../events/run-warning.ts';
import { GpuModel } from '../gpu.ts';
import { MAX_WARM_WAIT_S } from '../limits.ts';
import { LogMasks } from '../run-logs.ts';
import {
  GpuFallbacks,
  HighestPriority,
  KeepSlots,
  LowestPriority,
  RequiredLabels,
  Weight,
} from '../run-options.ts';
import { enumInWords } from '../schemas.ts';
import { RunnerChoice } from './runners.ts';
import { WorkflowInput } from './workflow-inputs.ts';

const Uuid = Type.String({ format: 'uuid' });
const Time = Type.String({ format: 'date-time' });
const Name = Type.String({ minLength: 1, maxLength: 128 });

export const Machine = Type.Object({
  id: Uuid,
  org_id: Uuid,
  name: Name,
  /** The default for runs that name none. */
  gpu: GpuModel,
  type: Type.String(),
  version: Type.String(),
  runner: RunnerChoice,
  archived: Type.Boolean(),
  created_at: Time,
});
export type Machine = Static<typeof Machine>;

export const Workflow = Type.Object({
  id: Uuid,
  org_id: Uuid,
  name: Name,
  archived: Type.Boolean(),
  created_at: Time,
});
export type Workflow = Static<typeof Workflow>;

/** Immutable: a run names the version and its SHA-256. */
export const WorkflowVersion = Type.Object({
  id: Uuid,
  org_id: Uuid,
  workflow_id: Uuid,
  number: Type.Integer({ minimum: 1 }),
  /** Of the workflow as JSON text. It is the blob of the organisation in WORKFLOWS. */
  sha256: Sha256,
  bytes: Type.Integer({ minimum: 1 }),
  inputs: Type.Array(WorkflowInput),
  /** Of a version whose workflow is a `CodeManifest`. */
  code: Type.Optional(StoredCode),
  /** The SHA-256 of each model of the manifest that the gateway keeps for the organisation. */
  models: Type.Optional(Type.Array(Sha256)),
  /** What whoever made it says about it. */
  message: Type.Optional(Type.String()),
  /** The git commit of its folder. */
  commit: Type.Optional(Type.String()),
  /** The user who made it. Left out for one that the installation made. */
  created_by: Type.Optional(Uuid),
  created_at: Time,
});
export type WorkflowVersion = Static<typeof WorkflowVersion>;

/** A version as lists show it, stored under its number. Only this record of a version may change. */
export const NumberedVersion = Type.Object({
  ...WorkflowVersion.properties,
  archived: Type.Boolean(),
});
export type NumberedVersion = Static<typeof NumberedVersion>;

/** What the requests of a deployment may ask for, beside its own timeout and deadline. Without a bound the general limits hold. */
export const RequestBounds = Type.Object({
  min_priority: Type.Optional(LowestPriority),
  max_priority: Type.Optional(HighestPriority),
  max_delay_s: Type.Optional(Type.Number({ minimum: 0 })),
});
export type RequestBounds = Static<typeof RequestBounds>;

export const Deployment = Type.Object({
  id: Uuid,
  org_id: Uuid,
  workflow_id: Uuid,
  workflow_version_id: Uuid,
  machine_id: Uuid,
  name: Name,
  environment: Type.String(),
  gpu: Type.Optional(GpuModel),
  /** Only beside a `gpu`. */
  gpu_fallbacks: Type.Optional(GpuFallbacks),
  labels: Type.Optional(RequiredLabels),
  warm_wait_s: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: MAX_WARM_WAIT_S })),
  /** Slots that have the version ready before runs come. Left out for 0. */
  keep_prepared: Type.Optional(KeepSlots),
  keep_loaded: Type.Optional(KeepSlots),
  concurrency_limit: Type.Optional(Type.Integer({ minimum: 1 })),
  weight: Type.Optional(Weight),
  /** Whether requests with inputs that the version does not define are refused. */
  strict_inputs: Type.Optional(Type.Literal(true)),
  run_timeout_s: Type.Number({ exclusiveMinimum: 0 }),
  start_deadline_s: Type.Number({ exclusiveMinimum: 0 }),
  bounds: Type.Optional(RequestBounds),
  retry: Type.Object({
    attempts: Type.Integer({ minimum: 1, maximum: 100 }),
    on: Type.Optional(StoredRetryOn),
  }),
  /** Left out for `warn`. */
  if_no_output: Type.Optional(IfNoOutput),
  log_masks: Type.Optional(LogMasks),
  archived: Type.Boolean(),
  created_at: Time,
});
export type Deployment = Static<typeof Deployment>;

/**
 * Says that a deployment may have something kept ready, so that these are found among all. Written before the deployment says so, and
 * removed some time after it no longer does.
 */
export const KeptReady = Type.Object({ org_id: Uuid, deployment_id: Uuid });
export type KeptReady = Static<typeof KeptReady>;

export const Organisation = Type.Object({ id: Uuid, name: Name, created_at: Time });
export type Organisation = Static<typeof Organisation>;

/** For how long an organisation wants its runs and their output files to be kept; null for as long as the installation keeps them. */
export const Retention = Type.Object({
  org_id: Uuid,
  runs_days: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]),
  outputs_days: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]),
});
export type Retention = Static<typeof Retention>;

/** A text that programs of the organisation get, stored under its name. */
export const Secret = Type.Object({
  org_id: Uuid,
  name: Type.String(),
  /** By a SecretBox, for the organisation and the name. */
  sealed: Type.String(),
  created_at: Time,
  updated_at: Time,
  /** The user who set it last. */
  updated_by: Uuid,
});
export type Secret = Static<typeof Secret>;

/**
 * The erasure of an organisation, from its request on, and what stays of the organisation: nothing that its people chose. It is never
 * erased itself, and nobody makes keys for the organisation again.
 */
export const Erasure = Type.Object({
  org_id: Uuid,
  requested_at: Time,
  /** The operator's API key. */
  requested_by: Type.Object({ org_id: Uuid, user_id: Uuid, key_id: Uuid }),
  /** When a pass over everything found nothing; null while there is something. */
  quiet_at: Type.Union([Time, Type.Null()]),
  /** When a pass long after that found nothing either. */
  erased_at: Type.Union([Time, Type.Null()]),
  /** What was found so far. A kill may leave the last ones uncounted. */
  erases: Type.Object({
    keys: Type.Integer({ minimum: 0 }),
    runs: Type.Integer({ minimum: 0 }),
    files: Type.Integer({ minimum: 0 }),
  }),
});
export type Erasure = Static<typeof Erasure>;

export const User = Type.Object({ id: Uuid, org_id: Uuid, name: Name, created_at: Time });
export type User = Static<typeof User>;

/** Scopes that a key of an organisation can have, and can give to keys that it creates. */
export const OrganisationScope = Type.Enum(['runs:read', 'runs:write', 'admin']);
export type OrganisationScope = Static<typeof OrganisationScope>;

/** `operator` concerns the whole fleet. No organisation can give it: only a user with broker credentials creates such a key. */
export const KeyScope = Type.Enum([...OrganisationScope.enum, 'operator']);
export type KeyScope = Static<typeof KeyScope>;

/** Stored under the key's hash. The key itself is shown once and never stored. */
export const ApiKey = Type.Object({
  id: Uuid,
  user_id: Uuid,
  org_id: Uuid,
  name: Name,
  /** The first characters, by which a person recognises it. */
  prefix: Type.String(),
  /** Of the key's text. The record is stored under it, and it is compared again after the lookup. */
  sha256: Sha256,
  scopes: Type.Array(KeyScope),
  /** The id of the key that made it. A key that an operator made has none. */
  parent_key_id: Type.Optional(Uuid),
  /** The user whose session or key made it, in whosever name. A key that an operator made has none. */
  made_by: Type.Optional(Uuid),
  /** Of a key that was created with another key: the id of the first key. All of them share its rate. */
  rate_key: Type.Optional(Uuid),
  created_at: Time,
  expires_at: Type.Union([Time, Type.Null()]),
});
export type ApiKey = Static<typeof ApiKey>;

/** What a member of an organisation may do. */
export const Role = enumInWords(
  {
    owner: 'Everything, also members and invitations.',
    developer: 'Reads, and queues, cancels and repeats runs.',
    viewer: 'Reads.',
  },
  { description: 'What the member may do.' },
);
export type Role = Static<typeof Role>;

const SCOPES: Readonly<Record<Role, OrganisationScope>> = {
  owner: 'admin',
  developer: 'runs:write',
  viewer: 'runs:read',
};

/** The scopes of a session of a member. */
export const scopesOfMember = ({
  role,
  operator,
}: {
  readonly role: Role;
  /** Runs the installation too. */
  readonly operator: boolean;
}): KeyScope[] => [SCOPES[role], ...(operator ? (['operator'] as const) : [])];
