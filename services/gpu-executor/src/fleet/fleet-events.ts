import type { ExecutorFact, ExecutorRegistered } from '@runledger/contracts/events/fleet-event';

export type Registration = Omit<ExecutorRegistered, 'type' | 'version' | 'event_id' | 'time'>;

/** Makes the facts of an executor about itself. */
export const fleetEvents =
  (registration: Registration, newId: () => string, now: () => Date) =>
  (type: 'ExecutorRegistered' | 'ExecutorDraining' | 'ExecutorLeft'): ExecutorFact => {
    const { executor_id } = registration;
    const envelope = { version: 1 as const, event_id: newId(), time: now().toISOString() };
    switch (type) {
      case 'ExecutorRegistered':
        return { type, ...envelope, ...registration };
      case 'ExecutorDraining':
        return { type, ...envelope, executor_id };
      case 'ExecutorLeft':
        return { type, ...envelope, executor_id };
    }
  };
