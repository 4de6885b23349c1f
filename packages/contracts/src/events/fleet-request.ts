import { Type, type Static } from 'typebox';
import { EXECUTOR_NAME_PATTERN } from '../ids.ts';

/** What a person asks of every executor of a name, the present ones and those that start later. */
const fleetRequest = <const Name extends string>(type: Name) => ({
  type: Type.Literal(type),
  version: Type.Literal(1),
  event_id: Type.String({ format: 'uuid' }),
  executor_name: Type.String({ pattern: EXECUTOR_NAME_PATTERN }),
  /** The id of the API key that asked. */
  requested_by: Type.String({ format: 'uuid' }),
  time: Type.String({ format: 'date-time' }),
});

/** Executors of this name get no new runs, however often they restart, until it is resumed. What runs there goes on. */
export const ExecutorDrainRequested = Type.Object({ ...fleetRequest('ExecutorDrainRequested') });
/** Executors of this name get runs again. */
export const ExecutorResumeRequested = Type.Object({ ...fleetRequest('ExecutorResumeRequested') });

export const FleetRequest = Type.Union([ExecutorDrainRequested, ExecutorResumeRequested]);
export type FleetRequest = Static<typeof FleetRequest>;

/** The last token of their subjects. */
export const FLEET_REQUEST_FACTS: Record<FleetRequest['type'], string> = {
  ExecutorDrainRequested: 'drain_requested',
  ExecutorResumeRequested: 'resume_requested',
};

/** `all`, in the place of a boot id: it concerns every process of that name. */
export const fleetRequestSubject = ({ executor_name, type }: FleetRequest): string =>
  `fleet.${executor_name}.all.${FLEET_REQUEST_FACTS[type]}`;
