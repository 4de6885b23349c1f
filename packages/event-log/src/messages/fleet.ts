import { FleetEvent, type ExecutorFact } from '@runledger/contracts/events/fleet-event';
import { FLEET_REQUEST_FACTS, fleetRequestSubject } from '@runledger/contracts/events/fleet-request';
import { executorId } from '@runledger/contracts/ids';
import { fleetSubject, type FleetFact } from '@runledger/contracts/subjects/run-subjects';
import { Type } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import type { EventLog } from '../connect/event-log.ts';
import { publish } from './publish.ts';

const FACTS: Record<ExecutorFact['type'], FleetFact> = {
  ExecutorRegistered: 'registered',
  ExecutorDraining: 'draining',
  ExecutorLeft: 'left',
  ExecutorLost: 'lost',
};

/** The last token of the subject of a fact of the fleet. */
export const fleetFactOf = (type: FleetEvent['type']): string => ({ ...FACTS, ...FLEET_REQUEST_FACTS })[type];

const utf8 = new TextEncoder();

/** Where a fact of the fleet is stored. */
export const fleetSubjectOf = (event: FleetEvent): string =>
  'executor_name' in event
    ? fleetRequestSubject(event)
    : fleetSubject(executorId(event.executor_id), FACTS[event.type]);

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

export type ParsedFleetEvent =
  | { readonly kind: 'event'; readonly event: FleetEvent }
  /** A type of a later release: ignored. */
  | { readonly kind: 'unknown_type'; readonly type: string }
  /** The reader must stop with an error. */
  | { readonly kind: 'newer_version'; readonly type: string; readonly version: number }
  | { readonly kind: 'invalid'; readonly why: string };

/** The version that this release writes and reads. */
const VERSION = 1;
const Envelope = compiledSchema(Type.Object({ type: Type.String(), version: Type.Integer({ minimum: 1 }) }));
const Known = compiledSchema(FleetEvent);

export const parseFleetEvent = (body: unknown): ParsedFleetEvent => {
  if (!Envelope.Check(body)) return { kind: 'invalid', why: 'the event has no type and version' };
  const { type, version } = body;
  if (!Object.hasOwn(FACTS, type) && !Object.hasOwn(FLEET_REQUEST_FACTS, type))
    return { kind: 'unknown_type', type };
  if (version > VERSION) return { kind: 'newer_version', type, version };
  if (Known.Check(body)) return { kind: 'event', event: body };
  return { kind: 'invalid', why: `the event does not match the schema of ${type}` };
};
