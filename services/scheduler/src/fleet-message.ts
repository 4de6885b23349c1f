import type { FleetEvent } from '@runledger/contracts/fleet';
import type { StoredMessage } from '@runledger/contracts/history';
import { fleetSubjectOf, parseFleetEvent } from '@runledger/event-log/fleet';

/** A fact of the fleet, where it stands in FLEET, and the broker's time. */
export interface FleetFact {
  readonly event: FleetEvent;
  readonly sequence: number;
  readonly time: string;
}

export type ReadFleetMessage =
  | { readonly kind: 'fact'; readonly fact: FleetFact }
  | { readonly kind: 'refused'; readonly why: string }
  /** Of a type that this release does not know. */
  | { readonly kind: 'unknown_type'; readonly type: string };

export const readFleetMessage = ({ subject, sequence, time, body }: StoredMessage): ReadFleetMessage => {
  const parsed = parseFleetEvent(body);
  switch (parsed.kind) {
    case 'event': {
      const { event } = parsed;
      // Each executor's credentials allow it to write its own facts under its own name only.
      if (subject === fleetSubjectOf(event)) return { kind: 'fact', fact: { event, sequence, time } };
      return {
        kind: 'refused',
        why: `${event.type} stands under ${subject}, not under ${fleetSubjectOf(event)}`,
      };
    }
    case 'invalid':
      return { kind: 'refused', why: parsed.why };
    case 'newer_version':
      return { kind: 'refused', why: `${parsed.type} in version ${parsed.version} is of a later release` };
    case 'unknown_type':
      return parsed;
  }
};
