import { MAX_FACT_BYTES } from '../events/fact-bytes.ts';
import type { RunCounts } from './run-counts.ts';

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

/** The room that a new run needs. */
export const NEW_RUN_BYTES = all('RunQueued') + QUEUED_RUN_BYTES;
/** The room that a new attempt needs. */
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
