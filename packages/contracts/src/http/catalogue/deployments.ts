import { Type, type Static } from 'typebox';
import {
  HighestPriority,
  LowestPriority,
  KeepSlots,
  Weight as AnyWeight,
  GpuFallback,
  MAX_GPUS,
  Label,
  LABEL_RULE,
  MAX_REQUIRED_LABELS,
} from '../../run-options.ts';
import { GpuModel, GpuName } from '../../gpu.ts';
import { IfNoOutput } from '../../events/run-warning.ts';
import { MAX_RETRY_AFTER_S, RetryOn } from '../../events/run-error.ts';
import { LogMasks } from '../../run-logs.ts';
import { MAX_DEADLINE_S, MAX_WARM_WAIT_S } from '../../limits.ts';
import {
  DeploymentUuid,
  EXAMPLE_IDS,
  MachineUuid,
  OrganisationUuid,
  VersionUuid,
  WorkflowUuid,
  Archived,
  Name,
  NamedRecordsQuery,
  NewName,
  CreatedAt,
  NextCursor,
} from '../fields.ts';
import { nullable, optional, unchanged } from '../../schemas.ts';
import { ReadyState } from '../../requests/ready-slots.ts';
import { NewMachine } from './machines.ts';
import { NewWorkflowVersion } from './workflows.ts';

const Environment = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'Your own word, such as production or staging.',
  examples: ['staging'],
});
const GPU =
  "The GPU model of runs that request none: any name, as for a machine. Without it, the machine's default.";
const GPUS =
  'The GPU models of runs that request none, in order of preference, such as `["L4", {"gpu": "A10G", "after_s": 60}]`: a run takes a slot of the first model that has a free one, and of a model with `after_s` only once it has waited so many seconds. Instead of `gpu`, which is a list of one.';
const Gpus = Type.Array(
  Type.Union(
    [
      GpuName,
      Type.Object(
        { gpu: GpuName, after_s: GpuFallback.properties.after_s },
        { title: 'GpuFallback', description: 'A GPU model that a run takes once it has waited.' },
      ),
    ],
    { description: 'A GPU model, or one with the seconds after which it is taken.' },
  ),
  { maxItems: MAX_GPUS, description: GPUS, examples: [['L4', { gpu: 'A10G', after_s: 60 }]] },
);
const CONCURRENCY =
  'The most runs of this deployment that execute at the same time; no limit without it. The others wait. As all settings, a run has the one with which it was queued.';
const ConcurrencyLimit = Type.Integer({
  minimum: 1,
  maximum: 100_000,
  description: CONCURRENCY,
  examples: [4],
});
const Weight = {
  ...AnyWeight,
  description:
    'Its part of the GPUs of your organisation while other deployments have waiting runs too: one of weight 2 gets twice the slots of one of weight 1. The last queued run counts.',
};
const WarmWait = Type.Number({
  minimum: 0,
  maximum: MAX_WARM_WAIT_S,
  examples: [20],
  description:
    'Seconds that a run may leave free GPU slots to others while a slot that has its version loaded is busy: it waits for that one, and then takes any. A free slot that has it loaded is taken first anyway.',
});
const KeepPrepared = {
  ...KeepSlots,
  examples: [4],
  description:
    'On how many slots the version is kept prepared, before the first run and after a change of the version: its code, packages and weights are on the disk of their executors. For versions with code.',
};
const KeepLoaded = {
  ...KeepSlots,
  examples: [1],
  description:
    'In how many slots the version is kept loaded, so that a run finds its process ready. Only free slots: a process that is kept makes way for another one that stays, when a run of that gets its slot, and is loaded again where a slot is empty. For versions with code whose process stays.',
};
const RequiredLabel = {
  ...Label,
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: `Send a label: ${LABEL_RULE}`,
  },
};
const Labels = Type.Array(RequiredLabel, {
  maxItems: MAX_REQUIRED_LABELS,
  examples: [['zone:eu-west-1']],
  description:
    'Its runs go only to executors that have all of these labels (EXECUTOR_LABELS), such as `zone:eu-west-1`. An empty list asks for none.',
});
const StrictInputs = Type.Boolean({
  examples: [true],
  description:
    'Whether requests with names in `inputs` that the version does not define are refused with 422. Otherwise such inputs are passed to the workflow, and the response warns of them. A version that defines no inputs takes every name.',
});
const RunTimeout = Type.Number({
  exclusiveMinimum: 0,
  maximum: MAX_DEADLINE_S,
  description:
    'Seconds that an attempt of a run may execute. Storing its files is not part of it: that may take an hour, and another one for each GiB. A request may ask for less.',
  examples: [3600],
});
const StartDeadline = Type.Number({
  exclusiveMinimum: 0,
  maximum: MAX_DEADLINE_S,
  description: 'Seconds that a run may wait until it begins to execute. A request may ask for less.',
  examples: [3600],
});
const BOUNDS =
  'What requests may ask for. A request beyond a bound is refused with 422. `run_timeout_s` and `start_deadline_s` of the deployment are bounds too.';
const MinPriority = {
  ...LowestPriority,
  description: 'The lowest `priority` of a request: -100 without a bound.',
};
const MaxPriority = {
  ...HighestPriority,
  description: 'The highest `priority` of a request: 100 without a bound.',
};
const MaxDelay = Type.Number({
  minimum: 0,
  maximum: MAX_DEADLINE_S,
  description:
    'The most seconds by which a request may delay its run, with `delay_s` or `start_at`. Without it, what the log has room for.',
  examples: [86_400],
});
const Bounds = Type.Object(
  {
    min_priority: MinPriority,
    max_priority: MaxPriority,
    max_delay_s: nullable(MaxDelay, 'Null without a bound.'),
  },
  { title: 'RequestBounds', description: BOUNDS },
);
const REMOVES = 'Null removes the bound.';
const RequestedBounds = Type.Object(
  {
    min_priority: optional(MinPriority, REMOVES),
    max_priority: optional(MaxPriority, REMOVES),
    max_delay_s: optional(MaxDelay, REMOVES),
  },
  {
    title: 'RequestedBounds',
    description: `${BOUNDS} An omitted bound stays unchanged, null removes it; null instead of the object removes all.`,
  },
);
const Attempts = Type.Integer({
  minimum: 1,
  maximum: 100,
  description:
    'The most attempts of a run. It begins another one when its executor is lost, and after an error in `on`.',
  examples: [3],
});
const On = {
  ...RetryOn,
  description: `Errors after which a run begins another attempt, if they are retryable. It waits about 2 s before the second attempt, then twice as long each time, at most ${MAX_RETRY_AFTER_S} s. None by default.`,
  examples: [['crashed', 'out_of_memory']],
};
const Retry = Type.Object(
  {
    attempts: Attempts,
    on: Type.Optional({ ...On, description: `${On.description} Only present when there are any.` }),
  },
  { title: 'RetryPolicy', description: 'When a run begins another attempt.' },
);
const RequestedRetry = Type.Object(
  { attempts: unchanged(Attempts), on: unchanged(On) },
  {
    title: 'RequestedRetryPolicy',
    description: 'When a run begins another attempt. An omitted member stays unchanged.',
  },
);

const Masks = {
  ...LogMasks,
  examples: [['sk-[A-Za-z0-9]{20,}']],
  description:
    'Patterns of what must not be shown: `***` replaces every match in the lines of logs and in the messages of errors. In the syntax of RE2, which takes linear time. Each line is matched by itself.',
};

const lifetime =
  'Start deadline and run timeout of all attempts together have to fit into the time for which the log keeps events; a refusal says how long that is.';

export const Deployment = Type.Object(
  {
    id: DeploymentUuid,
    org_id: OrganisationUuid,
    workflow_id: WorkflowUuid,
    workflow_version_id: VersionUuid,
    machine_id: MachineUuid,
    name: Name,
    environment: Environment,
    gpu: nullable(
      { ...GpuModel, description: 'The GPU model of runs that request none: the first one of `gpus`.' },
      'Null for the default of the machine.',
    ),
    gpus: Type.Array(
      { ...GpuFallback, description: 'A GPU model, and when runs take it.' },
      {
        description:
          'The GPU models of runs that request none, in order of preference; empty for the default of the machine.',
      },
    ),
    labels: Labels,
    warm_wait_s: WarmWait,
    keep_prepared: KeepPrepared,
    keep_loaded: KeepLoaded,
    concurrency_limit: nullable(ConcurrencyLimit, 'Null without one.'),
    weight: Weight,
    strict_inputs: StrictInputs,
    run_timeout_s: RunTimeout,
    start_deadline_s: StartDeadline,
    bounds: Bounds,
    retry: Retry,
    if_no_output: IfNoOutput,
    log_masks: nullable(Masks, 'Null without any.'),
    archived: Archived,
    created_at: CreatedAt,
  },
  {
    title: 'Deployment',
    description:
      'A workflow version on a machine, with the settings of its runs. A run keeps the settings and the version with which it was queued.',
  },
);
export type Deployment = Static<typeof Deployment>;

const settings = {
  environment: optional({ ...Environment, default: 'production' }),
  gpu: optional({ ...GpuName, description: GPU }),
  gpus: optional(Gpus),
  labels: optional({ ...Labels, default: [] }),
  warm_wait_s: optional({ ...WarmWait, default: 0 }),
  keep_prepared: optional({ ...KeepPrepared, default: 0 }),
  keep_loaded: optional({ ...KeepLoaded, default: 0 }),
  concurrency_limit: optional(ConcurrencyLimit),
  weight: optional({ ...Weight, default: 1 }),
  strict_inputs: optional({ ...StrictInputs, default: false }),
  run_timeout_s: optional({ ...RunTimeout, default: 3600 }),
  start_deadline_s: optional({ ...StartDeadline, default: 3600 }),
  bounds: optional(RequestedBounds, 'What requests may ask for. None when it is null or omitted.'),
  retry: optional(
    RequestedRetry,
    'When a run begins another attempt. Three attempts when it is null or omitted.',
  ),
  if_no_output: optional({ ...IfNoOutput, default: 'warn' }),
  log_masks: optional(Masks),
};

export const NewDeployment = Type.Object(
  {
    name: NewName,
    workflow_version_id: VersionUuid,
    machine_id: MachineUuid,
    ...settings,
  },
  {
    title: 'NewDeployment',
    description: `Without retry: three attempts. ${lifetime}`,
    examples: [
      {
        name: 'portraits',
        workflow_version_id: EXAMPLE_IDS.workflow_version_id,
        machine_id: EXAMPLE_IDS.machine_id,
        concurrency_limit: 4,
      },
    ],
  },
);
export type NewDeployment = Static<typeof NewDeployment>;

export const DeploymentChange = Type.Object(
  {
    name: unchanged(NewName),
    workflow_version_id: unchanged(VersionUuid),
    machine_id: unchanged(MachineUuid),
    environment: unchanged(Environment),
    gpu: optional({ ...GpuName, description: GPU }, 'Null clears it.'),
    gpus: optional(Gpus, 'Null or an empty list clears it.'),
    labels: unchanged(Labels),
    warm_wait_s: unchanged(WarmWait),
    keep_prepared: unchanged(KeepPrepared),
    keep_loaded: unchanged(KeepLoaded),
    concurrency_limit: optional(ConcurrencyLimit, 'Null clears it.'),
    weight: unchanged(Weight),
    strict_inputs: unchanged(StrictInputs),
    run_timeout_s: unchanged(RunTimeout),
    start_deadline_s: unchanged(StartDeadline),
    bounds: optional(RequestedBounds, 'What requests may ask for. Null removes all bounds.'),
    retry: optional(
      RequestedRetry,
      'When a run begins another attempt. Unchanged when it is null or omitted.',
    ),
    if_no_output: unchanged(IfNoOutput),
    log_masks: optional(Masks, 'Null removes them.'),
    archived: unchanged(Archived),
  },
  {
    title: 'DeploymentChange',
    description: `Omitted members stay unchanged. ${lifetime}`,
    examples: [{ concurrency_limit: 4 }],
  },
);
export type DeploymentChange = Static<typeof DeploymentChange>;

export const DeploymentPlan = Type.Object(
  {
    deployment_id: optional(
      DeploymentUuid,
      'The deployment that would change. Null or omitted for a new one.',
    ),
    workflow_id: optional(
      WorkflowUuid,
      'The workflow that would get a version. Null or omitted for a new one.',
    ),
    workflow_version_id: optional(VersionUuid, 'A version that is there. Null or omitted for a new one.'),
    machine_id: optional(MachineUuid, 'A machine that is there. Null or omitted for a new one.'),
    workflow: Type.Optional(NewWorkflowVersion.properties.workflow),
    inputs: NewWorkflowVersion.properties.inputs,
    machine: optional(
      NewMachine,
      'A new machine, or with `machine_id` what that one would become. Null or omitted without either.',
    ),
    name: optional(NewName, 'Unchanged when it is null or omitted; a new deployment needs one.'),
    ...settings,
  },
  {
    title: 'DeploymentPlan',
    description:
      'A deployment with the records that would be made for it. `workflow` and `inputs` are those of a new version.',
    examples: [
      {
        name: 'portraits',
        workflow: { '6': { class_type: 'CLIPTextEncode', inputs: { text: 'a lake' } } },
        machine: { name: 'studio', gpu: 'A10G', runner: { kind: 'program', program: 'render-image' } },
      },
    ],
  },
);

export const DeploymentPage = Type.Object(
  { deployments: Type.Array(Deployment, { description: 'The newest first.' }), next_cursor: NextCursor },
  { title: 'DeploymentPage', description: 'A page of deployments.' },
);

const SlotReady = Type.Object(
  {
    slot: Type.Integer({ minimum: 0, description: 'Of the executor, from 0.', examples: [0] }),
    state: ReadyState,
    why: nullable(
      Type.String({ description: 'Why it failed.', examples: ['The program ended before it was ready.'] }),
      'Null unless it failed.',
    ),
  },
  { title: 'SlotReady', description: 'A slot in which the version is kept loaded.' },
);

const ExecutorReady = Type.Object(
  {
    executor: Type.String({ description: 'The name of the executor.', examples: ['gpu-box-1'] }),
    state: nullable(ReadyState, 'Null while the executor does not respond.'),
    why: nullable(
      Type.String({ description: 'Why it failed.', examples: ['There is no package of this name.'] }),
      'Null unless it failed.',
    ),
    slots: Type.Array(SlotReady, {
      description: 'The slots in which the version is kept loaded; empty where it is only kept prepared.',
    }),
  },
  { title: 'ExecutorReady', description: 'An executor that keeps the version ready.' },
);

export const DeploymentReady = Type.Object(
  {
    workflow_version_id: VersionUuid,
    keep_prepared: KeepPrepared,
    keep_loaded: KeepLoaded,
    executors: Type.Array(ExecutorReady, {
      description: 'Where the version is kept ready; empty where no executor can, or nothing is kept.',
    }),
  },
  { title: 'DeploymentReady', description: 'What a deployment has kept ready now.' },
);
export type DeploymentReady = Static<typeof DeploymentReady>;

export const DeploymentPath = Type.Object({ deployment_id: DeploymentUuid });

export const DeploymentsQuery = Type.Object({
  ...NamedRecordsQuery.properties,
  workflow_id: Type.Optional({
    ...WorkflowUuid,
    description: 'Only deployments of this workflow, of any version.',
  }),
});
