import { fleetSubjectOf, type ExecutorFact, type FleetEvent } from '@runledger/contracts/events/fleet-event';
import { termAnnouncementSubject, termBegan, TERMS } from '@runledger/contracts/events/leader-terms';
import { newUuid, type ExecutorId } from '@runledger/contracts/ids';
import { CALL_WITHIN_MS } from '../connect/broker-call.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { lastMessage } from '../read/leader-read.ts';
import { publish, publishUntilAcknowledged } from './publish.ts';

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

const bytesOf = (message: object): Uint8Array => utf8.encode(JSON.stringify(message));

/** Begins a term after all others, and gives its number. @throws {LogUnavailable} then another one may have begun */
export const beginTerm = async (log: EventLog, instance: string): Promise<number> => {
  for (;;) {
    const last = await lastMessage(log, 'FLEET', TERMS, CALL_WITHIN_MS);
    const published = await publish(log, {
      stream: 'FLEET',
      subject: TERMS,
      data: bytesOf(termBegan(instance)),
      id: newUuid(),
      fence: { filter: TERMS, sequence: last?.seq ?? 0 },
    });
    if (published.kind === 'stored') return published.sequence;
  }
};

interface AnnouncedTerm {
  readonly term: number;
  readonly instance: string;
  readonly executor: ExecutorId;
}

/** Tells an executor of a term, and gives the sequence in RUNS from which on earlier terms are void. @throws {LogUnavailable} */
export const announceTerm = async (
  log: EventLog,
  { term, instance, executor }: AnnouncedTerm,
): Promise<number> => {
  const told = await publish(log, {
    stream: 'RUNS',
    subject: termAnnouncementSubject(executor),
    data: bytesOf(termBegan(instance, term)),
    id: newUuid(),
  });
  if (told.kind === 'conflict')
    throw new Error('a term was refused with a conflict, although it has no fence');
  return told.sequence;
};

/**
 * Stores the registration of an executor, on the condition that no term has begun after `term`; 0 for none. `superseded`: the last one
 * that has. @throws {LogUnavailable} also while a term begins
 */
export const registerInTerm = async (
  log: EventLog,
  event: ExecutorFact,
  term: number,
): Promise<{ readonly kind: 'stored' } | { readonly kind: 'superseded'; readonly term: number }> => {
  const response = await publishUntilAcknowledged(log, {
    stream: 'FLEET',
    subject: fleetSubjectOf(event),
    data: bytesOf(event),
    id: event.event_id,
    fence: { filter: TERMS, sequence: term },
  });
  if (response.kind !== 'conflict') return { kind: 'stored' };
  // Of a replicated stream: another registration, or a term, is being stored.
  if (response.head === undefined)
    throw new LogUnavailable('registering: another registration is being stored');
  return { kind: 'superseded', term: response.head };
};
