import { Type, type Static } from 'typebox';
import { RunError } from '../../events/run-error.ts';
import { ColdStartParts, ErasedContent, RunSource } from '../../events/run-event-data.ts';
import { RunWarning } from '../../events/run-warning.ts';
import { GpuModel } from '../../gpu.ts';
import type { JsonValue } from '../../json.ts';
import { ConcurrencyKey, Priority, Tag } from '../../run-options.ts';
import { enumInWords, nullable } from '../../schemas.ts';
import {
  CreatedAt,
  KeyUuid,
  MachineUuid,
  OrganisationUuid,
  RunUuid,
  ScheduleUuid,
  time,
  UserUuid,
  VersionUuid,
  WorkflowUuid,
} from '../fields.ts';
import { EndReason, RunAttempt, RunStatus, StartedAt, WebhookStatus } from './run-attempt.ts';
import { MissingMember, OutputItem } from './run-outputs.ts';

const seconds = (what: string) =>
  nullable(
    Type.Number({ description: `${what}, in seconds; null until both times are known.`, examples: [12.5] }),
  );

/** The 32 fields of section 2.1 of the run API, and ours. Every response has all of them. */
export const WorkflowRun = Type.Object(
  {
    id: RunUuid,
    workflow_version_id: VersionUuid,
    workflow_inputs: Type.Unsafe<JsonValue>({
      description:
        'The inputs by name, with the defaults of those left out. Null unless requested with `?include=inputs`. Secret inputs are null.',
      examples: [{ prompt: 'a red fox in the snow', seed: 7 }],
    }),
    workflow_id: WorkflowUuid,
    workflow_api: Type.Unsafe<JsonValue>({
      description: 'The workflow as JSON; null unless requested with `?include=workflow_api`.',
      examples: [null],
    }),
    machine_id: MachineUuid,
    origin: RunSource,
    status: RunStatus,
    created_at: CreatedAt,
    updated_at: time('The time of the last fact about the run.'),
    gpu_event_id: nullable(
      Type.String({
        description:
          'The id of the slot allocation: this attempt in its GPU slot. Null before the first attempt.',
        examples: ['01a21460-b1c0-7000-8000-00000000000b'],
      }),
    ),
    gpu: {
      ...GpuModel,
      description:
        'The GPU model of the slot of its last attempt; before the first attempt the model that it prefers.',
    },
    machine_version: Type.String({
      description: 'The version that the machine had when the run was queued.',
      examples: ['1'],
    }),
    machine_type: Type.String({
      description: 'The type that the machine had when the run was queued.',
      examples: ['comfyui'],
    }),
    compute_function_call_id: nullable(
      Type.String({
        description: 'The id of the last attempt: the id of the run and its number. Null before the first.',
        examples: ['01a21460-ae48-7794-b9bb-ade918a387db.1'],
      }),
    ),
    user_id: { ...UserUuid, description: 'The user of the key or the schedule that queued it.' },
    org_id: OrganisationUuid,
    live_status: nullable(
      Type.String({
        description: 'A short sentence about the current step; null once the run has ended.',
        examples: ['waiting for an A10G (2 ahead)'],
      }),
    ),
    webhook: nullable(
      Type.String({
        description:
          'The callback URL. To a key without the scope `admin` it shows the host only, since the rest may be a secret.',
        examples: ['https://hooks.example.com/[hidden]'],
      }),
      'Null for a run without one.',
    ),
    webhook_status: nullable(
      WebhookStatus,
      'The state of its notifications. Null for a run without a webhook.',
    ),
    number: Type.Integer({
      minimum: 1,
      description:
        'Counts the runs of the organisation, in the order in which they were accepted; unique there. Numbers may be left out, and gateways that accept runs at the same time may count in another order.',
      examples: [4711],
    }),
    duration: seconds('From created_at to ended_at'),
    cold_start_duration: nullable(
      Type.Number({
        description:
          'Seconds that the last attempt waited for what executes it to load, such as a model; 0 when it was warm.',
        examples: [1.5],
      }),
      'Null while the workflow has not begun to execute.',
    ),
    cold_start_parts: nullable(
      Type.Object(ColdStartParts.properties, {
        title: 'ColdStartParts',
        description:
          'What cold_start_duration consists of, in seconds, to the millisecond each. A part that did not happen is 0. Where no code of a version is executed, all of it is `load`. A run that waited while another one prepared the same has its wait in the part it waited for.',
      }),
      'Null while the workflow has not begun to execute.',
    ),
    code_sha256: nullable(
      Type.String({
        pattern: '^[0-9a-f]{64}$',
        description:
          'Identifies the code that executed the last attempt: a hash of the files of its program. Two runs with the same one were executed by the same code, on whichever machine.',
        examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
      }),
      'Null while the workflow has not begun to execute, and where the executor does not know its code, as of a model server.',
    ),
    environment_sha256: nullable(
      Type.String({
        pattern: '^[0-9a-f]{64}$',
        description:
          'Identifies the packages that the executor installed for the code: a hash of what was to be installed, and for which interpreter.',
        examples: ['ef2d127de37b942baad06145e54b0c619a1f22327b2ebbcfbec78f5564afe39d'],
      }),
      'Null where it installed none.',
    ),
    cold_start_duration_total: seconds('From created_at to started_at'),
    run_duration: seconds('From started_at to ended_at'),
    ended_at: nullable(time('When it ended.'), 'Null until then.'),
    queued_at: time('When it was queued, or queued again for another attempt.'),
    started_at: StartedAt,
    progress: Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        'How much of the run is done, from 0 to 1, as its program reports it; 0 while it is queued.',
      examples: [0.25],
    }),
    is_realtime: Type.Boolean({ description: 'Always false.', examples: [false] }),
    webhook_intermediate_status: Type.Boolean({
      description: 'As requested: whether the webhook also receives intermediate status.',
      examples: [false],
    }),
    outputs: Type.Array(OutputItem, {
      description: 'What the run made. Empty until it has ended, and when `missing_members` names them.',
    }),
    finished: Type.Boolean({ description: 'Whether no further status will follow.', examples: [false] }),
    end_reason: nullable(EndReason, 'Why it ended. Null until then.'),
    error: nullable(RunError, 'Why it failed or timed out. Null until then, and for other ends.'),
    warnings: Type.Array(RunWarning, {
      description:
        'What is odd about a run that has succeeded, such as an output node that made nothing. Usually empty.',
    }),
    attempts: Type.Array(RunAttempt, {
      description: 'From the first one to the present or last one; empty until the run is assigned.',
    }),
    queue_position: nullable(
      Type.Integer({
        minimum: 1,
        description:
          'Of a queued run: 1 is assigned next. An estimate, since organisations and deployments share the GPUs. Null when unknown, while the run waits for the time when it may start, and once it has started.',
        examples: [3],
      }),
    ),
    priority: {
      ...Priority,
      description: 'As requested, 0 by default: a head start of a minute for each step.',
      examples: [0],
    },
    concurrency_key: nullable(
      {
        ...ConcurrencyKey,
        description: 'As requested: of the runs of the deployment with this key one executes at a time.',
        examples: ['user-17'],
      },
      'Null without one.',
    ),
    tags: Type.Array(Tag, { description: 'As requested, in alphabetical order; empty without any.' }),
    run_timeout_s: Type.Number({ description: 'Seconds that an attempt may execute.', examples: [3600] }),
    start_deadline_s: Type.Number({
      description: 'Seconds that it may wait until it begins to execute.',
      examples: [3600],
    }),
    start_at: nullable(
      time('The time before which it does not start, as requested with `start_at` or `delay_s`.'),
      'Null without one.',
    ),
    rerun_of: nullable(
      { ...RunUuid, description: 'The run that this run repeats.' },
      'Null when it repeats none.',
    ),
    schedule: nullable(
      Type.Object(
        { id: ScheduleUuid, time: time('The time of the schedule.') },
        { title: 'RunSchedule', description: 'The schedule that queued it, and for which of its times.' },
      ),
      'The schedule that queued it. Null when none did.',
    ),
    missing_members: Type.Array(MissingMember, {
      description:
        'Members that are null, or an empty list, because they are lost or deleted: included ones, and outputs. Usually empty.',
    }),
  },
  { title: 'WorkflowRun', description: 'A run as it is now, or as it was at the requested moment.' },
);
export type WorkflowRun = Static<typeof WorkflowRun>;

const CANCEL_OUTCOMES = {
  cancelled: 'Final.',
  cancellation_requested: 'The run executes, and ends as cancelled within the grace period.',
  already_ended: 'The run had ended otherwise, and is unchanged.',
};

export const CancelRunResponse = Type.Object(
  {
    run_id: RunUuid,
    status: RunStatus,
    outcome: enumInWords(CANCEL_OUTCOMES, { description: 'What the request did.' }),
  },
  { title: 'CancelRunResponse', description: 'What became of a request to cancel a run.' },
);

const INCLUDED = enumInWords(
  { inputs: 'The member `workflow_inputs`.', workflow_api: 'The member `workflow_api`.' },
  { description: 'A member that is shown.' },
);

export const IncludedMembers = Type.Array(INCLUDED, {
  description:
    'Members that are null unless requested, because they may be large. A page with them may be shorter.',
});

export const DeleteRunResponse = Type.Object(
  {
    run_id: RunUuid,
    outcome: Type.Literal('deleted', { description: 'Always `deleted`: nobody is shown the run any more.' }),
  },
  { title: 'DeleteRunResponse', description: 'The run is deleted.' },
);
export type DeleteRunResponse = Static<typeof DeleteRunResponse>;

export const DeleteOutputsResponse = Type.Object(
  {
    run_id: RunUuid,
    outcome: enumInWords(
      { deleted: 'This request deleted them.', already_deleted: 'An earlier request deleted them.' },
      { description: 'What became of the outputs.' },
    ),
  },
  { title: 'DeleteOutputsResponse', description: 'The outputs of the run are deleted.' },
);
export type DeleteOutputsResponse = Static<typeof DeleteOutputsResponse>;

export const Tombstone = Type.Object(
  {
    run_id: RunUuid,
    number: Type.Integer({
      minimum: 1,
      description: 'The number of the run, as the run had it.',
      examples: [4711],
    }),
    created_at: CreatedAt,
    deleted_at: time('When it was deleted.'),
    deleted_by: Type.Object(
      {
        user_id: { ...UserUuid, description: 'The user of the API key.' },
        key_id: { ...KeyUuid, description: 'The API key of the request.' },
      },
      { description: 'Who deleted it.' },
    ),
    state: enumInWords(
      {
        erasing: 'Something of it is still to be erased.',
        erased: 'The files, logs and blobs of the run are gone, except content that another run has too.',
      },
      { description: 'Whether everything is erased.' },
    ),
    erases: { ...ErasedContent, description: 'What the run had outside of its facts, which is erased.' },
  },
  { title: 'Tombstone', description: 'What is left of a deleted run.' },
);
export type Tombstone = Static<typeof Tombstone>;
