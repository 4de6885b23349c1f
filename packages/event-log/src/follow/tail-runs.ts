import { ALL_LIFECYCLES, runOfSubject, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '../connect/event-log.ts';
import { pullInOrder, type Pulling } from './pull-in-order.ts';

export interface TailRunsOptions {
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
