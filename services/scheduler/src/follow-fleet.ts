import type { FleetEvent } from '@runledger/contracts/fleet';
import type { StoredMessage } from '@runledger/contracts/history';
import { ALL_FLEET } from '@runledger/contracts/subjects';
import type { EventLog } from '@runledger/event-log/event-log';
import { fleetSubjectOf, parseFleetEvent } from '@runledger/event-log/fleet';
import { follow, type Following } from '@runledger/event-log/follow';
import { park } from '@runledger/event-log/park';

export interface FollowFleet {
  readonly take: (event: FleetEvent) => void;
  readonly onCaughtUp: () => void;
  /** False while old messages are read again. */
  readonly parks: () => boolean;
}

/** Tells every fact of the fleet from the first one on: there are few, so they need no snapshot. */
export const followFleet = (log: EventLog, { take, onCaughtUp, parks }: FollowFleet): Promise<Following> => {
  const refuse = async (stored: StoredMessage, reason: string): Promise<void> => {
    const { sequence, subject } = stored;
    log.logger.warn({ sequence, subject, reason }, 'a message of the fleet is refused');
    if (parks()) await park(log, { consumer: 'scheduler', stored, reason, stream: 'FLEET' });
  };
  return follow(log, {
    stream: 'FLEET',
    subjects: [ALL_FLEET],
    after: 0,
    onCaughtUp,
    onBatch: async (messages) => {
      for (const stored of messages) {
        const parsed = parseFleetEvent(stored.body);
        switch (parsed.kind) {
          case 'event':
            // Each executor's credentials allow it to write its own facts under its own name only.
            if (stored.subject === fleetSubjectOf(parsed.event)) take(parsed.event);
            else await refuse(stored, `${parsed.event.type} belongs under ${fleetSubjectOf(parsed.event)}`);
            break;
          case 'invalid':
            await refuse(stored, parsed.why);
            break;
          case 'newer_version':
            // It tells of one executor only: that one gets no runs, and all others go on.
            await refuse(stored, `${parsed.type} in version ${parsed.version} is of a later release`);
            break;
          case 'unknown_type':
        }
      }
    },
  });
};
