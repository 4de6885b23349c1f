import type { StoredMessage } from '../fold/chain.ts';
import { lifecycleFilter, parseLifecycleSubject, type LifecycleSubject } from '../subjects/run-subjects.ts';

/** How many runs may still write into the log. */
export interface RunCounts {
  /** The sequence of the first fact that was counted; 0 before. */
  readonly from: number;
  /** Runs that have not ended. */
  readonly live: number;
  /** Those of them that are assigned to an executor. */
  readonly executing: number;
}

export const NO_RUNS: RunCounts = { from: 0, live: 0, executing: 0 };

/** What counting needs of a message: everything is in its subject and its headers. */
export type CountedMessage = Pick<StoredMessage, 'subject' | 'sequence' | 'fence' | 'expectedSequence'>;

/**
 * The counts after the next message of the log. Readers that take the messages in order, from the same one on, have the
 * same counts. Of a run whose beginning was not counted, because it had expired, the first counted fact tells its situation.
 */
export const countRuns = (counts: RunCounts, message: CountedMessage): RunCounts => {
  const about = parseLifecycleSubject(message.subject);
  // Readers refuse an append without this fence: it is no fact.
  const { fence, sequence, expectedSequence } = message;
  if (!about || fence !== lifecycleFilter(about) || expectedSequence === null) return counts;
  const from = counts.from === 0 ? sequence : counts.from;
  // An end that follows nothing is of a run whose facts have all expired since they were counted.
  const isKnown = expectedSequence === 0 || expectedSequence >= from;
  const { live, executing } = isKnown ? changeBy(about) : situationAfter(about);
  return {
    from,
    live: Math.max(counts.live + live, 0),
    executing: Math.max(counts.executing + executing, 0),
  };
};

type Change = Pick<RunCounts, 'live' | 'executing'>;

const NO_CHANGE: Change = { live: 0, executing: 0 };

const changeBy = (about: LifecycleSubject): Change => {
  const executing = about.executor_id === null ? 0 : -1;
  switch (about.fact) {
    case 'queued':
      return { live: 1, executing: 0 };
    case 'assigned':
      return { live: 0, executing: 1 };
    case 'requeued':
      return { live: 0, executing };
    case 'ended':
      return { live: -1, executing };
    case 'cancel_requested':
      return about.executor_id === null ? { live: -1, executing: 0 } : NO_CHANGE;
    default:
      return NO_CHANGE;
  }
};

const situationAfter = (about: LifecycleSubject): Change => {
  switch (about.fact) {
    case 'ended':
      return NO_CHANGE;
    case 'requeued':
      return { live: 1, executing: 0 };
    default:
      return about.executor_id === null ? NO_CHANGE : { live: 1, executing: 1 };
  }
};
