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

/** Counts only: tenants must not see which executors exist. */
export const WaitReason = Type.Object({
  ...QueuePosition.properties,
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
