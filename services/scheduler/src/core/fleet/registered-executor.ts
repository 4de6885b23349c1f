import type { ExecutorRegistered } from '@runledger/contracts/events/fleet-event';
import type { GpuModel } from '@runledger/contracts/gpu';
import { executorName, type ExecutorId } from '@runledger/contracts/ids';
import { capabilitiesOf, type Capabilities } from '../slots/requirements.ts';

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

/** What an executor said of itself, and the broker's time at which it did. */
export interface Registration {
  readonly said: ExecutorRegistered;
  readonly time: string;
}

/** What the scheduler knows of an executor that has registered and neither left nor been lost. */
export interface RegisteredExecutor {
  readonly id: ExecutorId;
  /** Which it shares with the processes before and after it. */
  readonly name: string;
  registration: Registration;
  /** Of the last fact about it, in FLEET. */
  sequence: number;
  capabilities: Capabilities;
  readonly slots: Map<number, Slot>;
  /** By GPU model, the slots that a run could be given now. */
  readonly free: Map<GpuModel, Set<Slot>>;
  /** It said that it takes no new runs. */
  draining: boolean;
  /** Somebody asked that its name gets no new runs. */
  drained: boolean;
  /** Its loss is decided, but not yet in the log. */
  losing: boolean;
  /** A beat has come since it registered or since the connection was taken up again. */
  heard: boolean;
  /** The broker's time of the last beat: two beats with one time are the same beat, told twice. */
  lastHeartbeat: string | null;
}

export const registeredExecutor = (
  id: ExecutorId,
  { registration, sequence, drained }: Pick<RegisteredExecutor, 'registration' | 'sequence' | 'drained'>,
): RegisteredExecutor => {
  const executor: RegisteredExecutor = {
    id,
    name: executorName(id),
    registration,
    sequence,
    capabilities: capabilitiesOf(registration.said),
    slots: new Map(),
    free: new Map(),
    draining: false,
    drained,
    losing: false,
    heard: false,
    lastHeartbeat: null,
  };
  takeSlots(executor);
  return executor;
};

/** It says again what it offers; what lingers in its slots still does. */
export const registerAgain = (
  executor: RegisteredExecutor,
  { registration, sequence }: Pick<RegisteredExecutor, 'registration' | 'sequence'>,
): void => {
  executor.registration = registration;
  executor.sequence = sequence;
  executor.capabilities = capabilitiesOf(registration.said);
  executor.draining = false;
  takeSlots(executor);
};

/** By its own word, or since its name is drained. */
export const takesNoMore = ({ draining, drained }: RegisteredExecutor): boolean => draining || drained;

/** Only such an executor is given runs. */
export const takesRuns = (executor: RegisteredExecutor): boolean =>
  executor.heard && !executor.losing && !takesNoMore(executor);

const takeSlots = (executor: RegisteredExecutor): void => {
  const before = new Map(executor.slots);
  executor.slots.clear();
  executor.free.clear();
  for (const { slot, gpu } of executor.registration.said.slots) {
    const lingering = before.get(slot)?.lingering ?? null;
    executor.slots.set(slot, { executor, number: slot, gpu, lingering });
  }
};
