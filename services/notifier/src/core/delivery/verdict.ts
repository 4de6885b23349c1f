import type { DeliveryAttemptResult } from '@runledger/contracts/events/delivery-attempt-result';

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
