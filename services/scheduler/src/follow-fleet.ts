import type { StoredMessage } from '@runledger/contracts/fold/chain';
import {
  ALL_FLEET,
  parseFleetEvent,
  fleetSubjectOf,
  type FleetEvent,
} from '@runledger/contracts/events/fleet-event';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow, NewerVersion, type Following } from '@runledger/event-log/follow/follow';
import { storeDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { TERMS } from '@runledger/contracts/events/leader-terms';
import { executorWriterOf } from '@runledger/contracts/events/subjects';

export interface FollowFleetOptions {
  readonly take: (fact: FleetFact) => void;
  readonly onTerm: (term: number) => void;
  readonly onCaughtUp: () => void;
  /** False while old messages are read again. */
  readonly storesDeadLetters: () => boolean;
}

/** Takes every fact of the fleet from the first one on: there are few, so they need no snapshot. */
export const followFleet = (
  log: EventLog,
  { take, onTerm, onCaughtUp, storesDeadLetters }: FollowFleetOptions,
): Promise<Following> => {
  const refuse = async (stored: StoredMessage, reason: string): Promise<void> => {
    if (storesDeadLetters()) {
      await storeDeadLetter(log, { consumer: 'scheduler', stored, reason, stream: 'FLEET' });
    }
  };
  return follow(log, {
    stream: 'FLEET',
    subjects: [ALL_FLEET],
    after: 0,
    onCaughtUp,
    onBatch: async (messages) => {
      for (const stored of messages) {
        const read = readFleetMessage(stored);
        switch (read.kind) {
          case 'fact':
            take(read.fact);
            break;
          case 'term':
            onTerm(read.term);
            break;
          case 'refused':
            await refuse(stored, read.why);
            break;
          case 'newer_version':
            throw new NewerVersion(read);
        }
      }
    },
  });
};

/** A fact of the fleet, its sequence in FLEET, and the broker's time. */
export interface FleetFact {
  readonly event: FleetEvent;
  readonly sequence: number;
  readonly time: string;
}

export type ReadFleetMessage =
  | { readonly kind: 'fact'; readonly fact: FleetFact }
  | { readonly kind: 'refused'; readonly why: string }
  /** A scheduler began to lead. */
  | { readonly kind: 'term'; readonly term: number }
  /** A fact of the control plane that only a later release can read: no decision without it is safe. */
  | {
      readonly kind: 'newer_version';
      readonly type: string;
      readonly version: number;
      readonly sequence: number;
    };

export const readFleetMessage = ({ subject, sequence, time, body }: StoredMessage): ReadFleetMessage => {
  if (subject === TERMS) return { kind: 'term', term: sequence };
  const parsed = parseFleetEvent(body);
  switch (parsed.kind) {
    case 'event': {
      const { event } = parsed;
      // An executor's credentials allow it to write its own facts only, under its own name.
      if (subject === fleetSubjectOf(event)) return { kind: 'fact', fact: { event, sequence, time } };
      return {
        kind: 'refused',
        why: `${event.type} is stored under ${subject}, not under ${fleetSubjectOf(event)}`,
      };
    }
    case 'invalid':
      return { kind: 'refused', why: parsed.why };
    case 'newer_version':
      if (executorWriterOf(subject) === undefined) return { ...parsed, sequence };
      // It concerns one executor, which gets no runs then. No executor may be able to stop the scheduler.
      return { kind: 'refused', why: `${parsed.type} in version ${parsed.version} is of a later release` };
  }
};
