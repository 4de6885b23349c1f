import type { FleetEvent } from '@runledger/contracts/events/fleet-event';
import { fleetSubjectOf } from '@runledger/contracts/subjects/fleet-subjects';
import type { EventLog } from '../connect/event-log.ts';
import { publish } from './publish.ts';

const utf8 = new TextEncoder();

/** Stores a fact of the fleet once and gives its sequence in FLEET. @throws {LogUnavailable} */
export const appendFleet = async (log: EventLog, event: FleetEvent): Promise<number> => {
  const published = await publish(log, {
    stream: 'FLEET',
    subject: fleetSubjectOf(event),
    data: utf8.encode(JSON.stringify(event)),
    id: event.event_id,
  });
  switch (published.kind) {
    case 'stored':
      return published.sequence;
    case 'conflict':
      throw new Error(`${event.type} was refused with a conflict, although it has no fence`);
  }
};
