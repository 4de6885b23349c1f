import type { RunEventType } from '../events/run-event.ts';
import { lifecycleFilter, parseLifecycleSubject, type LifecycleSubject } from '../events/subjects.ts';
import type { WebhookEventType } from '../events/webhook-event.ts';
import {
  MAX_ERROR_MESSAGE,
  MAX_EXPIRY_BYTES,
  MAX_FILE_INPUTS_BYTES,
  MAX_FIRST_FACT_BYTES,
  MAX_INLINE_BYTES,
  MAX_RUNNER_URL,
  MAX_WARNINGS_BYTES,
} from '../limits.ts';
import type { StoredMessage } from './chain.ts';

/** An event without its data, and short members of the data. */
const SMALL = 2 * 1024;
const WITH_MESSAGE = SMALL + MAX_ERROR_MESSAGE;
/** Outputs, or a reference to them. */
const WITH_OUTPUTS = SMALL + MAX_INLINE_BYTES;

/**
 * The largest fact of each type: bytes as JSON in UTF-8, at most 10.5 KiB. `append` refuses a larger one. What an accepted run may
 * still have to write is computed from it.
 */
export const MAX_FACT_BYTES = {
  RunQueued: MAX_FIRST_FACT_BYTES,
  RunCancelRequested: SMALL,
  /** Inputs, the names of those that are files, and the address of a runner. It has more short members than others. */
  RunAssigned: SMALL + MAX_INLINE_BYTES + MAX_FILE_INPUTS_BYTES + MAX_RUNNER_URL + 256,
  RunRequeued: WITH_MESSAGE,
  RunTimedOut: WITH_MESSAGE,
  RunGivenUp: WITH_MESSAGE,
  RunCancelEnforced: WITH_MESSAGE,
  RunExpired: MAX_FIRST_FACT_BYTES + MAX_EXPIRY_BYTES,
  RunOutputsDeleted: SMALL,
  RunDeleted: SMALL,
  RunStarted: SMALL,
  RunUploading: SMALL,
  RunAttemptFailed: WITH_MESSAGE,
  RunSucceeded: WITH_OUTPUTS + MAX_WARNINGS_BYTES,
  RunFailed: WITH_OUTPUTS + MAX_ERROR_MESSAGE,
  RunCancelled: WITH_OUTPUTS,
  WebhookStarted: SMALL,
  WebhookDelivered: SMALL,
  WebhookGivenUp: WITH_MESSAGE,
  WebhookExpired: WITH_MESSAGE,
  WebhookRedeliveryRequested: SMALL,
} as const satisfies Readonly<Record<RunEventType | WebhookEventType, number>>;

/** What the broker stores beside the body of a fact: its own record, the subject, and the headers of a fenced append. */
export const FACT_OVERHEAD_BYTES = 640;

type FactType = keyof typeof MAX_FACT_BYTES;

/** The bytes of these facts in the log, at most. */
const all = (...types: readonly FactType[]): number =>
  types.reduce((sum, type) => sum + MAX_FACT_BYTES[type] + FACT_OVERHEAD_BYTES, 0);

const largest = (...types: readonly FactType[]): number => Math.max(...types.map((type) => all(type)));

/**
 * What a run that has not ended may still write without an attempt: one end, and the outcome of its notifications. RunExpired
 * is none of these ends: the RunQueued that it repeats leaves the log within the hour.
 */
const QUEUED_RUN_BYTES =
  largest('RunCancelRequested', 'RunTimedOut', 'RunGivenUp') +
  all('WebhookStarted') +
  largest('WebhookDelivered', 'WebhookGivenUp');

/** What an attempt may still write, behind its RunAssigned: it ends the run, or the run is queued again. */
const ATTEMPT_BYTES =
  all('RunStarted', 'RunUploading', 'RunCancelRequested') +
  largest(
    'RunSucceeded',
    'RunFailed',
    'RunCancelled',
    'RunTimedOut',
    'RunGivenUp',
    'RunCancelEnforced',
    'RunRequeued',
    'RunAttemptFailed',
  );

/** What a new run takes of the log, at most. */
export const NEW_RUN_BYTES = all('RunQueued') + QUEUED_RUN_BYTES;
/** What a new attempt takes of it, at most. */
export const NEW_ATTEMPT_BYTES = all('RunAssigned') + ATTEMPT_BYTES;
/** What any message that was not counted may have reserved. */
export const UNKNOWN_MESSAGE_BYTES = Math.max(QUEUED_RUN_BYTES, ATTEMPT_BYTES);

/** What the accepted runs may still write: so much of the log has to stay free. */
export const reservedBytes = ({ live, executing }: Pick<RunCounts, 'live' | 'executing'>): number =>
  live * QUEUED_RUN_BYTES + executing * ATTEMPT_BYTES;

/**
 * The notifications of an ended run may fail for days, and then their outcome is stored. No subject says which ended runs
 * have a webhook, so this part of the log stays free for all of them.
 */
const OUTCOMES_PART = 1 / 8;
/** New runs leave this part to attempts, so that accepted runs are executed. */
const ATTEMPTS_PART = 1 / 8;

/** The bytes that facts and reservations together may have after a new attempt. A log without a limit (-1) has no end. */
export const attemptsLimit = (maxBytes: number): number => partOf(maxBytes, 1 - OUTCOMES_PART);

/** The same after a new run. */
export const newRunsLimit = (maxBytes: number): number => partOf(maxBytes, 1 - OUTCOMES_PART - ATTEMPTS_PART);

const partOf = (maxBytes: number, part: number): number =>
  maxBytes > 0 ? Math.floor(maxBytes * part) : Infinity;

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
