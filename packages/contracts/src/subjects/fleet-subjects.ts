import type { ExecutorFact, FleetEvent } from '../events/fleet-event.ts';
import { FLEET_REQUEST_FACTS, fleetRequestSubject } from '../events/fleet-request.ts';
import { executorId } from '../ids.ts';
import { fleetSubject, type FleetFact } from './run-subjects.ts';

const FACTS: Record<ExecutorFact['type'], FleetFact> = {
  ExecutorRegistered: 'registered',
  ExecutorDraining: 'draining',
  ExecutorLeft: 'left',
  ExecutorLost: 'lost',
};

/** The last token of the subject of a fact of the fleet. */
export const fleetFactOf = (type: FleetEvent['type']): string => ({ ...FACTS, ...FLEET_REQUEST_FACTS })[type];

/** The last tokens of the subjects that no executor may write to: drains, resumes and losses. */
const OF_CONTROL_PLANE: ReadonlySet<string> = new Set(
  (['ExecutorLost', 'ExecutorDrainRequested', 'ExecutorResumeRequested'] as const).map(fleetFactOf),
);

/** Whether only services may write under this subject of FLEET. */
export const isOfControlPlane = (subject: string): boolean =>
  OF_CONTROL_PLANE.has(subject.split('.').at(-1) ?? '');

/** Where a fact of the fleet is stored. */
export const fleetSubjectOf = (event: FleetEvent): string =>
  'executor_name' in event
    ? fleetRequestSubject(event)
    : fleetSubject(executorId(event.executor_id), FACTS[event.type]);
