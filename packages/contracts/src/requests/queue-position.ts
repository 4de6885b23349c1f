import { Type, type Static } from 'typebox';

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

/**
 * What a queued run waits for.
 * - `delayed`: it may start later only, as its request says.
 * - `retrying`: its last attempt failed, and it waits before another one.
 * - `busy`: the slots of all executors that could execute it are taken.
 * - `warm`: slots are free, and it waits for a busy one that has its version loaded, for at most the `warm_wait_s` of its deployment.
 * - `organisation_limit`: its organisation holds as many slots as an operator allows.
 * - `concurrency_limit`: as many runs of its deployment as its limit allows hold slots.
 * - `concurrency_key`: another run of its deployment with its concurrency key holds a slot.
 * - `storage_full`: the log has no room for what another attempt may write.
 * - `draining`: only executors that take no new runs could execute it.
 * - `no_gpu`: no executor has its GPU model.
 * - `not_served`: executors have its GPU model, but none of these serves its machine.
 * - `no_runner`: executors with its GPU model serve its machine, but none of these has the runner or program.
 * - `no_label`: executors could execute it, but none of these has all labels that its deployment asks for.
 */
export const Capacity = Type.Enum([
  'delayed',
  'retrying',
  'busy',
  'warm',
  'organisation_limit',
  'concurrency_limit',
  'concurrency_key',
  'storage_full',
  'draining',
  'no_gpu',
  'not_served',
  'no_runner',
  'no_label',
]);
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
