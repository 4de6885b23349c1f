import { MAX_DELIVERY_ATTEMPTS } from '@runledger/contracts/deliveries/delivery-attempts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Before the second attempt, the third, and so on: 71.7 h in all. */
const DELAYS_MS = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  1 * HOUR,
  2 * HOUR,
  4 * HOUR,
  8 * HOUR,
  12 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const;

/** A fifth of the delay to either side, so that deliveries that failed together are not attempted together again. */
const JITTER = 0.2;
/** A receiver may ask for a longer delay than the schedule has, up to this. */
const LONGEST_RETRY_AFTER_MS = 6 * HOUR;
/** After a failure of the notifier's side. */
const OWN_FAILURE_MS = 15 * SECOND;

/**
 * Milliseconds until the next attempt, after `attempts`; undefined when they are used up. `random` is 0 to 1.
 * `retryAfterMs` may lengthen the delay, never shorten it.
 */
export const delayAfter = (
  attempts: number,
  retryAfterMs: number | undefined,
  random: number,
): number | undefined => {
  const delay = attempts < MAX_DELIVERY_ATTEMPTS ? DELAYS_MS[attempts - 1] : undefined;
  if (delay === undefined) return undefined;
  return Math.max(jittered(delay, random), Math.min(retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS));
};

/** Milliseconds until the next attempt, when the last one failed on the notifier's side. */
export const delayAfterOwnFailure = (random: number): number => jittered(OWN_FAILURE_MS, random);

const jittered = (delay: number, random: number): number => delay * (1 - JITTER + 2 * JITTER * random);

/** `Retry-After` (RFC 9110, 10.2.3) in milliseconds: seconds or a date. Undefined for anything else, and for the past. */
export const parseRetryAfter = (
  text: string | null,
  now: number,
  parseDate: (text: string) => number,
): number | undefined => {
  const value = text?.trim() ?? '';
  if (/^\d+$/.test(value)) return Number(value) * SECOND;
  // Every form of an HTTP date begins with the name of a day. All are in GMT, also the form that does not name it.
  if (!/^[A-Z][a-z]+,? /.test(value)) return undefined;
  const until = parseDate(value.endsWith('GMT') ? value : `${value} GMT`) - now;
  return until > 0 ? until : undefined;
};
