import type { ExecutorRegistered } from '@runledger/contracts/events/fleet-event';
import type { GpuModel } from '@runledger/contracts/gpu';
import { executorName, type ExecutorId } from '@runledger/contracts/ids';
import { capabilitiesOf, type Capabilities } from './requirements.ts';

/** An attempt that ended without a fact from its executor, or that only the executor knows of: it may still use the GPU. */
interface LeftoverAttempt {
  readonly run_id: string;
  readonly attempt: number;
  /** Connected time from which the slot counts as free, even if the executor lists the attempt; null once it has passed. */
  readonly until: number | null;
}

export interface Slot {
  readonly executor: RegisteredExecutor;
  readonly number: number;
  readonly gpu: GpuModel;
  leftover: LeftoverAttempt | null;
  /** The workflow version that it has loaded, as its executor said last. */
  loaded: string | null;
}

/** The event with which an executor registered, and the broker's time of it. */
export interface Registration {
  readonly event: ExecutorRegistered;
  readonly time: string;
}

/** An executor that has registered and has neither left nor been lost. */
export interface RegisteredExecutor {
  readonly id: ExecutorId;
  /** Shared with the processes before and after it. */
  readonly name: string;
  registration: Registration;
  /** Of the last fact about it, in FLEET. */
  sequence: number;
  capabilities: Capabilities;
  readonly slots: Map<number, Slot>;
  /** By GPU model, the slots that can take a run now. */
  readonly free: Map<GpuModel, Set<Slot>>;
  /** It announced that it takes no new runs. */
  draining: boolean;
  /** An operator drained its name. */
  drained: boolean;
  /** Its loss is decided, but not yet in the log. */
  lossPending: boolean;
  /** A heartbeat came since it registered or since the connection was restored. */
  confirmed: boolean;
  /** The workflow versions that it can begin without fetching anything, as it said last. */
  prepared: readonly string[];
  /** The broker's time of the last heartbeat: two heartbeats with one time are the same one, received twice. */
  lastHeartbeat: string | null;
}

export type ExecutorFacts = Pick<RegisteredExecutor, 'registration' | 'sequence' | 'drained'>;

export const registeredExecutor = (
  id: ExecutorId,
  { registration, sequence, drained }: ExecutorFacts,
): RegisteredExecutor => {
  const executor: RegisteredExecutor = {
    id,
    name: executorName(id),
    registration,
    sequence,
    capabilities: capabilitiesOf(registration.event),
    slots: new Map(),
    free: new Map(),
    draining: false,
    drained,
    lossPending: false,
    confirmed: false,
    prepared: [],
    lastHeartbeat: null,
  };
  replaceSlots(executor);
  return executor;
};

/** It registers again, perhaps with other capabilities. Leftover attempts in its slots stay. */
export const registerAgain = (
  executor: RegisteredExecutor,
  { registration, sequence }: Pick<RegisteredExecutor, 'registration' | 'sequence'>,
): void => {
  executor.registration = registration;
  executor.sequence = sequence;
  executor.capabilities = capabilitiesOf(registration.event);
  executor.draining = false;
  replaceSlots(executor);
};

/** It takes no new runs: it announced that itself, or its name is drained. */
export const isDraining = ({ draining, drained }: RegisteredExecutor): boolean => draining || drained;

/** Whether the executor gets runs. */
export const acceptsRuns = (executor: RegisteredExecutor): boolean =>
  executor.confirmed && !executor.lossPending && !isDraining(executor);

const replaceSlots = (executor: RegisteredExecutor): void => {
  const before = new Map(executor.slots);
  executor.slots.clear();
  executor.free.clear();
  for (const { slot, gpu } of executor.registration.event.slots) {
    const { leftover = null, loaded = null } = before.get(slot) ?? {};
    executor.slots.set(slot, { executor, number: slot, gpu, leftover, loaded });
  }
};
