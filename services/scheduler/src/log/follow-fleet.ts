import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { ALL_FLEET } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow, NewerVersion, type Following } from '@runledger/event-log/follow/follow';
import { storeDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { readFleetMessage, type FleetFact } from './fleet-message.ts';

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
          case 'unknown_type':
            break;
        }
      }
    },
  });
};
