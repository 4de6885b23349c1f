import { Type, type Static } from 'typebox';

/** Where the scheduler that leads answers a `QueuePlacesQuestion`; nobody else does. */
export const QUEUE_POSITIONS_SUBJECT = 'request.scheduler.queue_position';

/** One question asks for this many runs at most. */
export const MAX_REQUESTED_POSITIONS = 100;

/** Of which runs, whichever organisations they belong to, the places are asked. */
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
 * - `busy`: executors that could execute it are there; their slots are taken.
 * - `draining`: only executors that take no new runs could execute it.
 * - `no_gpu`: no executor offers its GPU model.
 * - `not_served`: executors offer its GPU model, but none of them serves its machine.
 * - `no_runner`: one that serves its machine is there, but none that offers what executes it.
 */
export const Capacity = Type.Enum(['busy', 'draining', 'no_gpu', 'not_served', 'no_runner']);
export type Capacity = Static<typeof Capacity>;

export const QueuePosition = Type.Object({
  /**
   * How many runs for the same GPU model wait that were queued before it, of those that an executor which could execute
   * this run could execute as well; all of them while there is no such executor. 0 for the next.
   */
  ahead: Type.Integer({ minimum: 0 }),
  capacity: Capacity,
});
export type QueuePosition = Static<typeof QueuePosition>;

/** One for each run of the question, in its order; null for a run that does not wait. */
export const QueuePositionsResponse = Type.Object({
  positions: Type.Array(Type.Union([QueuePosition, Type.Null()]), { maxItems: MAX_REQUESTED_POSITIONS }),
});
export type QueuePositionsResponse = Static<typeof QueuePositionsResponse>;
