import { Type, type Static } from 'typebox';
import { GpuModel } from '../gpu.ts';
import { QueuePosition } from './queue-position.ts';

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
