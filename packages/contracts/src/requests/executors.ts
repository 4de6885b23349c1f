import { Type, type Static } from 'typebox';
import { RunnerChoice } from '../catalogue/runners.ts';
import { IsolationGaps, IsolationLevel, LimitsKind } from '../events/fleet-event.ts';
import { Placement } from '../events/placement.ts';
import { GpuModel } from '../gpu.ts';
import { EXECUTOR_ID_PATTERN, EXECUTOR_NAME_PATTERN } from '../ids.ts';
import { Label, MAX_EXECUTOR_LABELS, MAX_REQUIRED_LABELS } from '../run-options.ts';
import { enumInWords } from '../schemas.ts';

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
  isolation: Type.Union([IsolationLevel, Type.Null()]),
  isolation_gaps: IsolationGaps,
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

/** The durable name of the consumer on RUNS of all executors of a name, one after the other. */
export const executorConsumer = (name: string): string => `executor-${name}`;

/** The name of the executor whose consumer it is; undefined for that of another service. */
export const executorOfConsumer = (consumer: string): string | undefined =>
  /^executor-([A-Za-z0-9_-]+)$/.exec(consumer)?.[1];

/** An executor of this name requests its consumer here, and no other: the name is a part of the subject. `*` for all. */
export const executorConsumerSubject = (name: string): string => `request.scheduler.consumer.${name}`;

/** The consumer on RUNS of an executor, by which it receives what is addressed to it. Any scheduler creates it. */
export const ExecutorConsumerRequest = Type.Object({
  executor_id: Type.String({ pattern: EXECUTOR_ID_PATTERN }),
});
export type ExecutorConsumerRequest = Static<typeof ExecutorConsumerRequest>;

/** There is a consumer of the executor's name now. It may be that of another process of the name. */
export const ExecutorConsumerResponse = Type.Object({ exists: Type.Literal(true) });
export type ExecutorConsumerResponse = Static<typeof ExecutorConsumerResponse>;

/** The leading scheduler answers a `ShortageRequest` here. */
export const SHORTAGE_SUBJECT = 'request.scheduler.shortage';

/** What runs of a deployment would require. */
export const ShortageRequest = Type.Object({
  org_id: Type.String({ format: 'uuid' }),
  /** Any one of them. */
  gpus: Type.Array(GpuModel, { minItems: 1 }),
  machine_id: Type.String({ format: 'uuid' }),
  machine_name: Type.String(),
  runner: RunnerChoice,
  labels: Type.Array(Label, { maxItems: MAX_REQUIRED_LABELS }),
});
export type ShortageRequest = Static<typeof ShortageRequest>;

export const ShortageResponse = Type.Object({
  /** Null when a registered executor can take such runs, also one that is draining. */
  shortage: Type.Union([
    enumInWords(
      {
        no_executor: 'No executor is registered.',
        no_gpu: 'No executor has such a GPU.',
        not_served: 'No executor that has one serves the machine.',
        no_runner: 'No executor of these has the runner.',
        no_label: 'No executor of these has all labels.',
      },
      { description: 'Why no executor can take such runs: the last condition that fails.' },
    ),
    Type.Null(),
  ]),
});
export type ShortageResponse = Static<typeof ShortageResponse>;
