import { Type, type Static } from 'typebox';
import { EXECUTOR_NAME_PATTERN } from '../ids.ts';

/** An operator's request to every executor of a name: those that run now and those that start later. */
const fleetRequest = <const Name extends string>(type: Name) => ({
  type: Type.Literal(type),
  version: Type.Literal(1),
  event_id: Type.String({ format: 'uuid' }),
  executor_name: Type.String({ pattern: EXECUTOR_NAME_PATTERN }),
  /** The id of the API key. */
  requested_by: Type.String({ format: 'uuid' }),
  time: Type.String({ format: 'date-time' }),
});

/** Executors of this name get no new runs until it is resumed, even after restarts. Their current runs continue. */
export const ExecutorDrainRequested = Type.Object({ ...fleetRequest('ExecutorDrainRequested') });
/** Executors of this name get runs again. */
export const ExecutorResumeRequested = Type.Object({ ...fleetRequest('ExecutorResumeRequested') });

export const FleetRequest = Type.Union([ExecutorDrainRequested, ExecutorResumeRequested]);
export type FleetRequest = Static<typeof FleetRequest>;

/** The last token of the subject. */
export const FLEET_REQUEST_FACTS: Record<FleetRequest['type'], string> = {
  ExecutorDrainRequested: 'drain_requested',
  ExecutorResumeRequested: 'resume_requested',
};

/** `all` replaces the boot id: the request concerns every process of that name. */
export const fleetRequestSubject = ({ executor_name, type }: FleetRequest): string =>
  `fleet.${executor_name}.all.${FLEET_REQUEST_FACTS[type]}`;
