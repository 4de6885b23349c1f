import { Type } from 'typebox';
import {
  ATTEMPT_ERROR_KINDS,
  documentedKind,
  isRetryableKind,
  storedKind,
  type AttemptError,
} from './run-error.ts';

/** The kinds of errors after which a deployment may have another attempt; for the others it would be in vain, or the time of the run is over. */
export const RETRY_KINDS = ATTEMPT_ERROR_KINDS.filter(
  (kind) => isRetryableKind(kind) && kind !== 'start_deadline',
);
/** As the API documents it. */
export const RetryOn = Type.Array(documentedKind(RETRY_KINDS, 'A kind of error.'), {
  maxItems: RETRY_KINDS.length,
  uniqueItems: true,
});

/** In a fact or a record: a later release may know more kinds. */
export const StoredRetryOn = Type.Array(storedKind(RETRY_KINDS, 'A kind of error.'), {
  maxItems: 64,
  uniqueItems: true,
});

const FIRST_WAIT_S = 2;
/** Seconds between two attempts, at most. */
export const MAX_RETRY_AFTER_S = 300;

export interface RetryPolicy {
  /** The number of the attempt that failed. */
  readonly attempt: number;
  /** None for the last attempt of a run. */
  readonly retry_on?: readonly AttemptError['kind'][];
}

/**
 * Seconds after which the run may begin another attempt; null when it may not. They double with each attempt, and vary by half
 * of it, so that runs that failed together do not come back together. `random` is from 0 to 1.
 */
export const retryAfterS = (
  { kind, retryable }: AttemptError,
  { attempt, retry_on = [] }: RetryPolicy,
  random: number,
): number | null => {
  if (!retryable || !retry_on.includes(kind)) return null;
  const longest = Math.min(FIRST_WAIT_S * 2 ** (attempt - 1), MAX_RETRY_AFTER_S);
  return Math.round(longest * (0.5 + random / 2) * 1_000) / 1_000;
};
