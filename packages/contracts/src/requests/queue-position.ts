import { Type, type Static } from 'typebox';
import { GpuModel } from '../gpu.ts';
import { enumInWords } from '../schemas.ts';

/** The leading scheduler answers a `QueuePositionsRequest` here. */
export const QUEUE_POSITIONS_SUBJECT = 'request.scheduler.queue_position';

/** The most runs in one request. */
export const MAX_REQUESTED_POSITIONS = 100;

/** The runs whose positions are requested. They may belong to different organisations. */
export const QueuePositionsRequest = Type.Object({
  runs: Type.Array(
    Type.Object({
      org_id: Type.String({ format: 'uuid' }),
      run_id: Type.String({ format: 'uuid' }),
    }),
    { minItems: 1, maxItems: MAX_REQUESTED_POSITIONS },
  ),
});
export type QueuePositionsRequest = Static<typeof QueuePositionsRequest>;

/** What a queued run waits for. */
export const Capacity = enumInWords(
  {
    delayed: 'It may not start before `not_before`, as its request says.',
    retrying: 'Its last attempt failed, and it waits before another one.',
    busy: 'The slots of all executors that could execute it are taken.',
    warm: 'Slots are free, and it waits for a busy one that has its version loaded, at most for the `warm_wait_s` of its deployment.',
    organisation_limit: 'Its organisation executes as many runs as an operator allows.',
    concurrency_limit: 'As many runs of its deployment as its limit allows execute.',
    concurrency_key: 'Another run of its deployment with its concurrency key executes.',
    storage_full: 'The log has no room for another attempt until runs end or old ones expire.',
    draining: 'Only draining executors could execute it.',
    no_gpu: 'No executor has its GPU model.',
    not_served: 'Executors have its GPU model, and none of these serves its machine.',
    no_runner: 'Executors with its GPU model serve its machine, and none of these has its runner or program.',
    no_label: 'Executors could execute it, and none of these has all labels that its deployment asks for.',
  },
  { description: 'What it waits for.' },
);
export type Capacity = Static<typeof Capacity>;

/** What keeps a run from a slot that is free. */
export type Limit = Extract<Capacity, 'organisation_limit' | 'concurrency_limit' | 'concurrency_key'>;

export const QueuePosition = Type.Object({
  /**
   * About how many runs start before it: those that wait for the same GPU model, if all who wait are served by weight from now on, and
   * can be executed by an executor that can execute this run; without such an executor, all that wait for the model. 0 for the next.
   */
  ahead: Type.Integer({ minimum: 0 }),
  capacity: Capacity,
});
export type QueuePosition = Static<typeof QueuePosition>;

/** One for each run of the request, in the same order; null for a run that does not wait. */
export const QueuePositionsResponse = Type.Object({
  positions: Type.Array(Type.Union([QueuePosition, Type.Null()]), { maxItems: MAX_REQUESTED_POSITIONS }),
});
export type QueuePositionsResponse = Static<typeof QueuePositionsResponse>;

/** The leading scheduler answers a `WaitRequest` here. */
export const WAIT_SUBJECT = 'request.scheduler.wait';

export const WaitRequest = Type.Object({
  org_id: Type.String({ format: 'uuid' }),
  run_id: Type.String({ format: 'uuid' }),
});
export type WaitRequest = Static<typeof WaitRequest>;

const Count = Type.Integer({ minimum: 0 });

const time = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-01-31T09:30:00.000Z'] });

/** When it starts, by the broker's clock: as likely before `expected` as after it, and in 8 of 10 cases within the interval. */
export const Eta = Type.Object({
  earliest: time('It starts before this time in 1 of 10 cases.'),
  expected: time('As likely before this time as after it.'),
  latest: time('It starts after this time in 1 of 10 cases.'),
});
export type Eta = Static<typeof Eta>;

/**
 * Why nobody can say when the run starts.
 * - `not_busy`: it waits for something else than the ends of other runs: `capacity` says for what.
 * - `not_yet`: it may start later only, and nobody knows the queue at that time.
 * - `no_durations`: too few runs of its GPU model have ended.
 */
export const NoEta = Type.Enum(['not_busy', 'not_yet', 'no_durations']);
export type NoEta = Static<typeof NoEta>;

/** Counts only: tenants must not see which executors exist. */
export const WaitReason = Type.Object({
  ...QueuePosition.properties,
  eta: Type.Union([Eta, Type.Null()]),
  /** Null when there is an `eta`. */
  no_eta: Type.Union([NoEta, Type.Null()]),
  gpu: GpuModel,
  /** Executors that could execute this run. */
  executors: Type.Object({
    /** Of these, those that take new runs. */
    serving: Count,
    /** Slots of the run's GPU model on serving executors. */
    busy_slots: Count,
    free_slots: Count,
    /** Of these, those that take no new runs. */
    draining: Count,
  }),
});
export type WaitReason = Static<typeof WaitReason>;

/** Null for a run that does not wait. */
export const WaitResponse = Type.Object({ wait: Type.Union([WaitReason, Type.Null()]) });
export type WaitResponse = Static<typeof WaitResponse>;
