import {
  ALL_LIFECYCLES,
  ALL_WEBHOOKS,
  runOfSubject,
  type RunKey,
} from '@runledger/contracts/events/subjects';
import type { CountedMessage } from '@runledger/contracts/fold/log-capacity';
import type { EventLog } from '../connect/event-log.ts';
import { runsIdentityOf, type RunsIdentity } from '../read/stream-identity.ts';
import { pullInOrder, type Pulling } from './pull-in-order.ts';

interface TailRunsOptions {
  /** A message was stored in the lifecycle of a run, at this sequence. */
  readonly onMessage: (key: RunKey, sequence: number) => void;
  /** Called at the start and after every interruption: messages stored before are not reported. */
  readonly onGap: () => void;
}

/**
 * Reports which runs have a new message, as it is stored; the listener reads it. After every interruption it continues at
 * the end of the log, so it has no position that could be wrong when the log was restored from an older copy or replaced.
 * @throws {LogUnavailable} at the start
 */
export const tailRuns = (log: EventLog, { onMessage, onGap }: TailRunsOptions): Promise<Pulling> =>
  pullInOrder(log, {
    stream: 'RUNS',
    subjects: [ALL_LIFECYCLES],
    headersOnly: true,
    begin: ({ state }) => {
      onGap();
      return { deliver_policy: 'by_start_sequence', opt_start_seq: state.last_seq + 1 };
    },
    take: async (messages) => {
      for (const { subject, sequence } of messages) {
        const key = runOfSubject(subject);
        if (key) onMessage(key, sequence);
      }
    },
  });

interface FollowSubjectsOptions {
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
