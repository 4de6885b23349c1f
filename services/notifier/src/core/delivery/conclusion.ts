import type { DeliveryAttemptResult } from '@runledger/contracts/events/delivery-attempt-result';
import type { WebhookEventOf } from '@runledger/contracts/events/webhook-event';
import type { AttemptReport, Progress, SentResult } from './attempt-report.ts';
import { delayAfter, delayAfterOwnFailure, parseRetryAfter } from './retry-schedule.ts';
import { verdictOf } from './verdict.ts';

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
  { kind: 'unreadable' | 'failed' | 'expired' | 'log_expired' | 'sent' }
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
    case 'expired':
      return { kind: 'given_up', fact: expired(report.attempts, settings) };
    case 'log_expired':
      return { kind: 'given_up', fact: logExpired(report.attempts) };
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

const expired = (tries: number, { giveUpAfterMs }: ConclusionSettings): GivenUp => {
  const hours = Math.round(giveUpAfterMs / 360_000) / 10;
  const time = hours < 1 ? `${Math.round(giveUpAfterMs / 1_000)} s` : `${hours} h`;
  const message = `The receiver accepted nothing for ${time}. Request a redelivery while the run is in the log.`;
  return { tries, reason: 'expired', last_reason: null, status: null, message };
};

const logExpired = (tries: number): GivenUp => {
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
