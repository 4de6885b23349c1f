import type { DeliveryAttemptResult, WebhookEventOf } from '@runledger/contracts/events/webhook-event';
import { MAX_DELIVERY_ATTEMPTS } from '@runledger/contracts/deliveries/delivery-attempts';
import type { AttemptReport, Progress, SentResult } from './delivery.ts';

type GivenUp = Omit<WebhookEventOf<'WebhookGivenUp'>['data'], 'webhook_id'>;

/** What is written down after an attempt. */
export type Conclusion =
  | {
      readonly kind: 'delivered';
      readonly attempts: number;
      readonly status: number | null;
      /** From the end of the run. */
      readonly lagMs: number;
    }
  | { readonly kind: 'given_up'; readonly fact: GivenUp }
  | Retry;

/** The delivery waits in TIMERS. */
export interface Retry {
  readonly kind: 'retry';
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Undefined when nothing was sent: the delivery has made no progress. */
  readonly progress: Progress | undefined;
  readonly reason: DeliveryAttemptResult;
  readonly message: string;
  /** The fact WebhookStarted is appended. */
  readonly started: boolean;
}

export interface ConclusionSettings {
  readonly giveUpAfterMs: number;
  /** Of an HTTP date, as `Date.parse` reads it. */
  readonly instantOf: (text: string) => number;
}

/** A run whose facts cannot be read is read again after this time. */
const UNREADABLE_MS = 600_000;

type Concluded = Extract<
  AttemptReport,
  { kind: 'unreadable' | 'failed' | 'time_over' | 'log_expired' | 'sent' }
>;

/** Decides what follows from an attempt; undefined for one that was interrupted. */
export const conclusionOf = (
  report: Concluded,
  { now, chance }: { readonly now: number; readonly chance: number },
  settings: ConclusionSettings,
): Conclusion | undefined => {
  switch (report.kind) {
    case 'unreadable':
      return postponed(report.why, now + UNREADABLE_MS);
    case 'failed':
      return postponed(report.why, now + delayAfterOwnFailure(chance));
    case 'time_over':
      return { kind: 'given_up', fact: timeOver(report.attempts, settings) };
    case 'log_expired':
      return { kind: 'given_up', fact: eventsExpiring(report.attempts) };
    case 'sent':
      return afterRequest(report, { now, chance }, settings);
  }
};

/** Something of our own went wrong: the delivery waits a while, and no attempt is used up. */
const postponed = (why: string, at: number): Retry => ({
  kind: 'retry',
  at,
  progress: undefined,
  reason: 'internal_error',
  message: `The notifier could not make the notification: ${why}`,
  started: false,
});

const timeOver = (tries: number, { giveUpAfterMs }: ConclusionSettings): GivenUp => {
  const hours = Math.round(giveUpAfterMs / 360_000) / 10;
  const time = hours < 1 ? `${Math.round(giveUpAfterMs / 1_000)} s` : `${hours} h`;
  const message = `The receiver accepted nothing for ${time}. Request a redelivery while the run is in the log.`;
  return { tries, reason: 'expired', last_reason: null, status: null, message };
};

const eventsExpiring = (tries: number): GivenUp => {
  const message =
    'A notification is made from the events of its run, and the first of them are expiring from the log. After that it cannot be sent again: read the run instead.';
  return { tries, reason: 'log_expired', last_reason: null, status: null, message };
};

const afterRequest = (
  { result, endedAt, ...progress }: Extract<AttemptReport, { kind: 'sent' }>,
  { now, chance }: { readonly now: number; readonly chance: number },
  settings: ConclusionSettings,
): Conclusion | undefined => {
  const { reason, status, message } = result;
  const attempts = progress.attempts + 1;
  switch (verdictOf(reason)) {
    case 'interrupted':
      return undefined;
    case 'accepted':
      return { kind: 'delivered', attempts, status, lagMs: now - endedAt };
    case 'gone':
      return { kind: 'given_up', fact: givenUp('gone', attempts, result) };
    case 'own':
      return {
        kind: 'retry',
        at: now + delayAfterOwnFailure(chance),
        progress,
        reason,
        message,
        started: false,
      };
    case 'failed': {
      const retryAfter = parseRetryAfter(result.retry_after, now, settings.instantOf);
      const delay = delayAfter(attempts, retryAfter, chance);
      if (delay === undefined) return { kind: 'given_up', fact: givenUp('tries_used_up', attempts, result) };
      // Not beyond its end: a person must see it given up while the run is still there.
      const at = Math.min(now + delay, progress.expiresAt);
      return { kind: 'retry', at, progress: { ...progress, attempts }, reason, message, started: true };
    }
  }
};

const givenUp = (
  reason: 'gone' | 'tries_used_up',
  tries: number,
  { reason: last_reason, status, message }: SentResult,
): GivenUp => ({ tries, reason, last_reason, status, message });

/** `own`: not the receiver's fault. It uses up no attempt. */
export type Verdict = 'accepted' | 'gone' | 'failed' | 'own' | 'interrupted';

export type Outcome = 'success' | 'failure' | 'neutral';

/** What counts for the breaker of the origin, and for that of the receiver. */
interface Outcomes {
  readonly origin: Outcome;
  readonly receiver: Outcome;
}

/** Any response shows that the receiver is there. */
const ANSWERED: Outcomes = { origin: 'success', receiver: 'success' };
/** Nobody can reach the origin. */
const UNREACHABLE: Outcomes = { origin: 'failure', receiver: 'neutral' };
/** This organisation's webhooks at the origin fail. Other paths of the host may work. */
const RECEIVER_FAILED: Outcomes = { origin: 'success', receiver: 'failure' };
/** A request that was not sent shows nothing. */
const NOT_SENT: Outcomes = { origin: 'neutral', receiver: 'neutral' };

const CONSEQUENCES: Readonly<Record<DeliveryAttemptResult, readonly [Verdict, Outcomes]>> = {
  accepted: ['accepted', ANSWERED],
  gone: ['gone', ANSWERED],
  redirect: ['failed', ANSWERED],
  client_error: ['failed', ANSWERED],
  throttled: ['failed', RECEIVER_FAILED],
  server_error: ['failed', RECEIVER_FAILED],
  forbidden: ['failed', NOT_SENT],
  name_not_found: ['failed', UNREACHABLE],
  name_unanswered: ['failed', UNREACHABLE],
  connect_refused: ['failed', UNREACHABLE],
  connect_failed: ['failed', UNREACHABLE],
  connect_timed_out: ['failed', UNREACHABLE],
  tls_failed: ['failed', UNREACHABLE],
  reset: ['failed', RECEIVER_FAILED],
  malformed_answer: ['failed', RECEIVER_FAILED],
  timed_out: ['failed', RECEIVER_FAILED],
  proxy_failed: ['own', NOT_SENT],
  no_dns: ['own', NOT_SENT],
  internal_error: ['own', NOT_SENT],
  interrupted: ['interrupted', NOT_SENT],
};

export const verdictOf = (reason: DeliveryAttemptResult): Verdict => CONSEQUENCES[reason][0];

export const outcomesOf = (reason: DeliveryAttemptResult): Outcomes => CONSEQUENCES[reason][1];

/** Whether an attempt with this result counts against the receiver or the origin. */
export const isCharged = (reason: DeliveryAttemptResult): boolean =>
  Object.values(outcomesOf(reason)).includes('failure');

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
