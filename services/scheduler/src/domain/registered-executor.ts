import type { ExecutorRegistered } from '@runledger/contracts/fleet';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { ExecutorId } from '@runledger/contracts/ids';
import { offerOf, type Offer } from './demand.ts';

/** An attempt that ended without its executor's word, or that only the executor knows of: it may still use the GPU. */
interface Lingering {
  readonly run_id: string;
  readonly attempt: number;
  /** Connected time at which the slot is taken for free whatever the executor says; null once it has passed. */
  readonly until: number | null;
}

export interface Slot {
  readonly executor: RegisteredExecutor;
  readonly number: number;
  readonly gpu: GpuModel;
  lingering: Lingering | null;
}

/** What the scheduler knows of an executor that has registered and neither left nor been lost. */
export interface RegisteredExecutor {
  readonly id: ExecutorId;
  registration: ExecutorRegistered;
  offer: Offer;
  readonly slots: Map<number, Slot>;
  /** By GPU model, the slots that a run could be given now. */
  readonly free: Map<GpuModel, Set<Slot>>;
  draining: boolean;
  /** Its loss is decided, but not yet in the log. */
  losing: boolean;
  /** A beat has come since it registered or since the connection was taken up again. */
  heard: boolean;
  /** The broker's time of the last beat: two beats with one time are the same beat, told twice. */
  lastBeat: string | null;
}

export const registeredExecutor = (id: ExecutorId, registration: ExecutorRegistered): RegisteredExecutor => {
  const executor: RegisteredExecutor = {
    id,
    registration,
    offer: offerOf(registration),
    slots: new Map(),
    free: new Map(),
    draining: false,
    losing: false,
    heard: false,
    lastBeat: null,
  };
  takeSlots(executor);
  return executor;
};

/** It says again what it offers; what lingers in its slots still does. */
export const registerAgain = (executor: RegisteredExecutor, registration: ExecutorRegistered): void => {
  executor.registration = registration;
  executor.offer = offerOf(registration);
  executor.draining = false;
  takeSlots(executor);
};

/** Only such an executor is given runs. */
export const takesRuns = ({ draining, losing, heard }: RegisteredExecutor): boolean =>
  heard && !draining && !losing;

const takeSlots = (executor: RegisteredExecutor): void => {
  const before = new Map(executor.slots);
  executor.slots.clear();
  executor.free.clear();
  for (const { slot, gpu } of executor.registration.slots) {
    const lingering = before.get(slot)?.lingering ?? null;
    executor.slots.set(slot, { executor, number: slot, gpu, lingering });
  }
};
