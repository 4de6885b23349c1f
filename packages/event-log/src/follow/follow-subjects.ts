import type { CountedMessage } from '@runledger/contracts/room/run-counts';
import { ALL_LIFECYCLES, ALL_WEBHOOKS } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '../connect/event-log.ts';
import { runsIdentityOf, type RunsIdentity } from '../messages/stream-identity.ts';
import { pullInOrder, type Pulling } from './pull-in-order.ts';

export interface FollowSubjectsOptions {
  readonly readUpTo: () => number;
  /** The sequence behind which to begin. Called at the start and after every interruption. */
  readonly after: (log: RunsIdentity) => number;
  readonly onMessages: (messages: readonly CountedMessage[]) => void;
}

/** Reads the subjects and headers of every message of RUNS in order, permanently. @throws {LogUnavailable} at the start */
export const followSubjects = (
  log: EventLog,
  { readUpTo, after, onMessages }: FollowSubjectsOptions,
): Promise<Pulling> =>
  pullInOrder(log, {
    stream: 'RUNS',
    subjects: [ALL_LIFECYCLES, ALL_WEBHOOKS],
    headersOnly: true,
    readUpTo,
    begin: (info) => ({
      deliver_policy: 'by_start_sequence',
      opt_start_seq: after(runsIdentityOf(info)) + 1,
    }),
    take: async (messages) => onMessages(messages),
  });
