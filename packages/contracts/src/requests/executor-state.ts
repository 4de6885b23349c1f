import { Type, type Static } from 'typebox';
import { IsolationKind, LimitsKind, NetworkKind } from '../events/fleet-event.ts';
import { Placement } from '../events/placement.ts';
import { GpuModel } from '../gpu.ts';
import { enumInWords } from '../words/in-words.ts';
import { Label, MAX_EXECUTOR_LABELS } from '../labels.ts';
import { EXECUTOR_ID_PATTERN, EXECUTOR_NAME_PATTERN } from '../ids.ts';

/** The leading scheduler answers an `ExecutorsRequest` here. */
export const EXECUTORS_SUBJECT = 'request.scheduler.executors';

/** The most executors in one response; fewer when they would not fit one message. */
export const MAX_LISTED_EXECUTORS = 200;

/** The response lists at most this number of machines and of programs of an executor. */
export const MAX_LISTED_NAMES = 100;

const Name = Type.String({ pattern: EXECUTOR_NAME_PATTERN });
const MaybeId = Type.Union([Type.String({ pattern: EXECUTOR_ID_PATTERN }), Type.Null()]);
const Uuid = Type.String({ format: 'uuid' });
const Time = Type.String({ format: 'date-time' });

export const ExecutorsRequest = Type.Object({
  /** Only executors of this name; null for all. */
  name: Type.Union([Name, Type.Null()]),
  /** Continue after this executor, the last of the previous response; null for the first page. */
  after: Type.Union([Type.Object({ name: Name, executor_id: MaybeId }), Type.Null()]),
  limit: Type.Integer({ minimum: 1, maximum: MAX_LISTED_EXECUTORS }),
});
export type ExecutorsRequest = Static<typeof ExecutorsRequest>;

const State = enumInWords(
  {
    ready: 'It gets runs.',
    draining: 'It gets no runs, because its name is drained or it is stopping.',
    unresponsive:
      'It sent no heartbeat for half a heartbeat period; it gets no runs, and is lost after a whole period.',
    absent: 'The name is drained, and no registered executor has it.',
  },
  { description: 'Whether it gets runs.' },
);

export const ExecutorState = Type.Object({
  /** Null when absent. */
  executor_id: MaybeId,
  name: Name,
  state: State,
  /** Who drained its name, and when; null when nobody did. Times are the broker's. */
  drain: Type.Union([Type.Object({ requested_at: Time, requested_by: Uuid }), Type.Null()]),
  slots: Type.Array(
    Type.Object({
      slot: Type.Integer({ minimum: 0 }),
      gpu: GpuModel,
      /** What it has loaded, as its executor said last; null when that is nothing, or not said. */
      loaded_workflow_version_id: Type.Union([Uuid, Type.Null()]),
      run: Type.Union([
        Type.Object({
          org_id: Uuid,
          run_id: Uuid,
          attempt: Type.Integer({ minimum: 1 }),
          assigned_at: Time,
          /** Left out when the fact of the assignment does not say it. */
          placement: Type.Optional(Placement),
        }),
        Type.Null(),
      ]),
    }),
    { maxItems: 1024 },
  ),
  /** As registered, the first MAX_LISTED_NAMES. */
  machines: Type.Array(Type.String(), { maxItems: MAX_LISTED_NAMES }),
  /** The number of all its machines. */
  machine_count: Type.Integer({ minimum: 0 }),
  programs: Type.Array(Type.String(), { maxItems: MAX_LISTED_NAMES }),
  program_count: Type.Integer({ minimum: 0 }),
  labels: Type.Array(Label, { maxItems: MAX_EXECUTOR_LABELS }),
  /** Null when absent, or when it does not say it. */
  isolation: Type.Union([IsolationKind, Type.Null()]),
  network: Type.Union([NetworkKind, Type.Null()]),
  limits: Type.Union([LimitsKind, Type.Null()]),
  /** Null when absent. */
  software_version: Type.Union([Type.String(), Type.Null()]),
  /** Null when absent. */
  registered_at: Type.Union([Time, Type.Null()]),
  /** Null before the first heartbeat that this scheduler received. */
  last_heartbeat_at: Type.Union([Time, Type.Null()]),
});
export type ExecutorState = Static<typeof ExecutorState>;

/** Ordered by name, then by id. */
export const ExecutorsResponse = Type.Object({
  executors: Type.Array(ExecutorState, { maxItems: MAX_LISTED_EXECUTORS }),
  /** Whether further executors follow. */
  more: Type.Boolean(),
  /** The sequence in FLEET of the last fact that is in this response. */
  read_up_to: Type.Integer({ minimum: 0 }),
});
export type ExecutorsResponse = Static<typeof ExecutorsResponse>;
