import type { FleetEvent } from '../events/fleet-event.ts';
import { hidden, type Hiding, type Rules } from './content-rules.ts';

type OfType<Type extends FleetEvent['type']> = Extract<FleetEvent, { readonly type: Type }>;

const fact = {
  type: 'kept',
  version: 'kept',
  event_id: 'kept',
  executor_id: 'kept',
  time: 'kept',
} as const;

const request = {
  type: 'kept',
  version: 'kept',
  event_id: 'kept',
  executor_name: 'kept',
  requested_by: 'kept',
  time: 'kept',
} as const;

const FLEET_RULES: { readonly [Type in FleetEvent['type']]: Rules<OfType<Type>> } = {
  ExecutorRegistered: {
    ...fact,
    slots: 'kept',
    machines: 'kept',
    programs: 'kept',
    dedicated: 'kept',
    labels: 'kept',
    public_key: 'kept',
    isolation: 'kept',
    network: 'kept',
    limits: 'kept',
    software_version: 'kept',
  },
  ExecutorDraining: fact,
  ExecutorLeft: fact,
  ExecutorLost: { ...fact, message: { content: 'texts', without: () => '' } },
  ExecutorDrainRequested: request,
  ExecutorResumeRequested: request,
};

/** As `runEventWithoutContent`, of an executor. */
export const fleetEventWithoutContent = (event: FleetEvent, hiding: Hiding): FleetEvent =>
  // The rules of a type are those of its event, which the compiler cannot follow over the union.
  hidden<object>(FLEET_RULES[event.type], event, hiding) as FleetEvent;
