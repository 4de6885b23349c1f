import { Type, type Static } from 'typebox';
import { enumInWords } from '../words/in-words.ts';

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
