import { Type, type Static } from 'typebox';
import { MAX_CANDIDATES, Placement } from '../../events/placement.ts';
import { RunError } from '../../events/run-error.ts';
import { RunOrigin } from '../../events/run-event-data.ts';
import { ConcurrencyKey, Priority } from '../../fair-share.ts';
import { GpuModel } from '../../gpu.ts';
import { JsonRecord } from '../../json-schemas.ts';
import type { JsonValue } from '../../json.ts';
import { Time, Uuid } from '../fields/values.ts';
import { Tag } from '../../tags.ts';
import { nullable } from '../fields/optional.ts';

/** The list is closed. `not-started` is reserved for runs that are held back on purpose; nothing uses it yet. */
export const RunStatus = Type.Enum(
  ['not-started', 'queued', 'started', 'running', 'uploading', 'success', 'failed', 'timeout', 'cancelled'],
  { title: 'RunStatus' },
);
export type RunStatus = Static<typeof RunStatus>;

export const EndReason = Type.Enum(
  [
    'completed',
    'workflow_error',
    'executor_lost',
    'no_capacity',
    'start_deadline',
    'run_timeout',
    'storage_full',
    'cancelled_by_client',
    'cancelled_by_operator',
    'deployment_removed',
    'log_expired',
    'internal_error',
  ],
  { title: 'EndReason' },
);

export const WebhookStatus = Type.Enum(['not-started', 'running', 'success', 'failed'], {
  title: 'WebhookStatus',
});
export type WebhookStatus = Static<typeof WebhookStatus>;

export const MediaItem = Type.Object(
  {
    url: Type.String({
      description:
        'Needs no API key: the address cannot be guessed. It may expire, if the installation says so: read the run again for another one.',
    }),
    type: Type.Enum(['output', 'temp']),
    filename: Type.String(),
    is_public: Type.Boolean(),
    subfolder: Type.String(),
    upload_duration: Type.Number({ description: 'Seconds.' }),
    content_type: Type.String({ description: 'The MIME type.' }),
  },
  { title: 'MediaItem' },
);
export type MediaItem = Static<typeof MediaItem>;

export const OutputItem = Type.Object(
  {
    id: Uuid,
    run_id: Uuid,
    output_id: Type.String(),
    data: Type.Record(Type.String(), Type.Array(Type.Union([Type.String(), MediaItem])), {
      description: 'By kind: images, files, gifs, text and others.',
    }),
    node_meta: nullable(JsonRecord),
    created_at: Time,
    updated_at: Time,
    type: nullable(Type.String()),
    node_id: nullable(Type.String()),
  },
  { title: 'OutputItem' },
);
export type OutputItem = Static<typeof OutputItem>;

const seconds = (what: string) =>
  nullable(Type.Number({ description: `${what}, in seconds; null until both times are known.` }));

export const MissingMember = Type.Object(
  {
    member: Type.Enum(['workflow_inputs', 'workflow_api', 'outputs']),
    reason: Type.Enum(['gone', 'damaged', 'deleted'], {
      description:
        '`gone`: it has expired, as inputs and lists of outputs over 4 KiB do after 90 days by default. `damaged`: what is stored is not what was stored. `deleted`: a request deleted them.',
    }),
  },
  { title: 'MissingMember' },
);
export type MissingMember = Static<typeof MissingMember>;

const RunPlacement = Type.Object(
  {
    candidates: {
      ...Placement.properties.candidates,
      description: `The free slots that fitted, with its own; ${MAX_CANDIDATES} for that many or more.`,
    },
    choice: {
      ...Placement.properties.choice,
      description:
        '`warm`: its slot had its workflow version loaded. `cold`: no free one had, as far as known.',
    },
    gpu_index: nullable(
      Type.Integer({
        minimum: 0,
        description: "Which of the deployment's `gpus` its slot has, from 0; null for a run with one model.",
      }),
    ),
    waited_s: Type.Number({
      minimum: 0,
      description: 'Seconds since the run was queued or queued again, without the wait before a retry.',
    }),
    warm_wait_s: nullable(
      Type.Number({
        minimum: 0,
        description:
          'Seconds for which it left free slots to others and waited for a warm one; null for none.',
      }),
    ),
    held_back_by: nullable({
      ...Placement.properties.held_back_by,
      description: 'The limit that kept it from a slot last; null when none did.',
    }),
    sentence: Type.String({ description: 'The same for people.' }),
  },
  { title: 'RunPlacement' },
);

export const RunAttempt = Type.Object(
  {
    number: Type.Integer({ minimum: 1 }),
    executor: Type.String({ description: 'Its name, which stays the same over its restarts.' }),
    gpu: GpuModel,
    placement: nullable({
      ...RunPlacement,
      description: 'Why it got its slot, and what it had waited for; null when the scheduler did not say it.',
    }),
    started_at: nullable(
      Type.String({ format: 'date-time', description: 'The time when the workflow began to execute.' }),
    ),
    ended_at: nullable(Time),
    end_reason: nullable(EndReason),
    error: nullable(RunError),
  },
  { title: 'RunAttempt' },
);
export type RunAttempt = Static<typeof RunAttempt>;

/** The 32 fields of section 2.1 of the run API, and ours. Every response has all of them. */
export const WorkflowRun = Type.Object(
  {
    id: Uuid,
    workflow_version_id: Uuid,
    workflow_inputs: Type.Unsafe<JsonValue>({
      description: 'Null unless requested with `?include=inputs`. Secret inputs are null.',
    }),
    workflow_id: Uuid,
    workflow_api: Type.Unsafe<JsonValue>({
      description: 'The workflow; null unless requested with `?include=workflow_api`.',
    }),
    machine_id: Uuid,
    origin: RunOrigin,
    status: RunStatus,
    created_at: Time,
    updated_at: Type.String({ format: 'date-time', description: 'The time of the last fact about the run.' }),
    gpu_event_id: nullable(
      Type.String({
        description:
          'The id of the slot allocation: this attempt in its GPU slot. Null before the first attempt.',
      }),
    ),
    gpu: {
      ...GpuModel,
      description: 'Of the slot of its last attempt; of a queued run the first one that it may take.',
    },
    machine_version: Type.String(),
    machine_type: Type.String(),
    compute_function_call_id: nullable(
      Type.String({
        description: 'The id of the attempt that the shown state belongs to; null before the first.',
      }),
    ),
    user_id: Uuid,
    org_id: Uuid,
    live_status: nullable(
      Type.String({ description: 'A short sentence about the current step; null at the end.' }),
    ),
    webhook: nullable(
      Type.String({
        description:
          'The callback URL. To a key without the scope `admin` it shows the host only, since the rest may be a secret.',
      }),
    ),
    webhook_status: nullable(WebhookStatus),
    number: Type.Integer({ minimum: 1, description: 'Unique and increasing.' }),
    duration: seconds('From created_at to ended_at'),
    cold_start_duration: seconds(
      'How long the last attempt waited for what executes it to load, such as a model; 0 when it was warm',
    ),
    cold_start_duration_total: seconds('From created_at to started_at'),
    run_duration: seconds('From started_at to ended_at'),
    ended_at: nullable(Time),
    queued_at: Time,
    started_at: nullable(
      Type.String({ format: 'date-time', description: 'The time when the workflow began to execute.' }),
    ),
    progress: Type.Number({ minimum: 0, maximum: 1 }),
    is_realtime: Type.Boolean(),
    webhook_intermediate_status: Type.Boolean(),
    outputs: Type.Array(OutputItem),
    finished: Type.Boolean({ description: 'No further status will follow.' }),
    end_reason: nullable(EndReason),
    error: nullable(RunError),
    attempts: Type.Array(RunAttempt, {
      description: 'From the first one to the present or last one; empty until the run is assigned.',
    }),
    queue_position: nullable(
      Type.Integer({
        minimum: 1,
        description:
          'Of a queued run: 1 is assigned next. An estimate, since organisations and deployments share the GPUs. Null when unknown, and while the run waits for the time when it may start.',
      }),
    ),
    priority: { ...Priority, description: 'As requested: a head start of a minute for each step.' },
    concurrency_key: nullable({
      ...ConcurrencyKey,
      description: 'As requested: of the runs of the deployment with this key one executes at a time.',
    }),
    tags: Type.Array(Tag, { description: 'As requested, in alphabetical order.' }),
    run_timeout_s: Type.Number({ description: 'Seconds that an attempt may execute.' }),
    start_deadline_s: Type.Number({ description: 'Seconds that it may wait until it begins to execute.' }),
    start_at: nullable(
      Type.String({
        format: 'date-time',
        description:
          'The time before which it does not start, as requested with `start_at` or `delay_s`. Null without one.',
      }),
    ),
    rerun_of: nullable(Type.String({ format: 'uuid', description: 'The run that this run repeats.' })),
    schedule: nullable(
      Type.Object(
        { id: Uuid, time: Time },
        { title: 'RunSchedule', description: 'The schedule that queued it, and for which of its times.' },
      ),
    ),
    missing_members: Type.Array(MissingMember, {
      description:
        'Members that are null, or an empty list, because they are lost or deleted: included ones, and outputs. Usually empty.',
    }),
  },
  { title: 'WorkflowRun' },
);
export type WorkflowRun = Static<typeof WorkflowRun>;

export const CancelRunResponse = Type.Object(
  {
    run_id: Uuid,
    status: RunStatus,
    outcome: Type.Enum(['cancelled', 'cancellation_requested', 'already_ended'], {
      description:
        '`cancelled`: final. `cancellation_requested`: the run executes, and ends as cancelled within the grace period. `already_ended`: the run had ended otherwise, and is unchanged.',
    }),
  },
  { title: 'CancelRunResponse' },
);

export const IncludedMembers = Type.Array(Type.Enum(['inputs', 'workflow_api']), {
  description:
    'Members that are null unless requested, because they may be large. A page with them may be shorter.',
});
