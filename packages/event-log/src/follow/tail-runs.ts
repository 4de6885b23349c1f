import { ALL_LIFECYCLES, runOfSubject, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '../connect/event-log.ts';
import { pullInOrder, type Pulling } from './pull-in-order.ts';

export interface TailRunsOptions {
  /** Something is stored in the lifecycle of a run, at this sequence. */
  readonly onMessage: (key: RunKey, sequence: number) => void;
  /** At the start and after every interruption: what was stored up to now is not told. */
  readonly onGap: () => void;
}

/**
 * Tells which runs have something new, as it is stored, and leaves it to the listener to read it. It goes on at the
 * end of the log after every interruption, so there is no position that could be wrong when the log has lost its end
 * or is another one.
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
      for (const { subject, seq } of messages) {
        const key = runOfSubject(subject);
        if (key) onMessage(key, seq);
      }
    },
  });
