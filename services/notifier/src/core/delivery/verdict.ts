import type { DeliveryAttemptResult } from '@runledger/contracts/events/delivery-attempt-result';

/** Whom a failure counts against. `origin`: nobody can reach it. `receiver`: this organisation's webhooks there fail. */
type Charge = 'origin' | 'receiver' | 'nobody';

/** `own`: not the receiver's fault. It uses up no attempt. */
export type Verdict = 'accepted' | 'gone' | 'failed' | 'own' | 'interrupted';

interface Consequence {
  readonly verdict: Verdict;
  readonly charge: Charge;
}

const CONSEQUENCES: Readonly<Record<DeliveryAttemptResult, Consequence>> = {
  accepted: { verdict: 'accepted', charge: 'nobody' },
  gone: { verdict: 'gone', charge: 'nobody' },
  redirect: { verdict: 'failed', charge: 'nobody' },
  client_error: { verdict: 'failed', charge: 'nobody' },
  throttled: { verdict: 'failed', charge: 'receiver' },
  server_error: { verdict: 'failed', charge: 'receiver' },
  forbidden: { verdict: 'failed', charge: 'nobody' },
  name_not_found: { verdict: 'failed', charge: 'origin' },
  name_unanswered: { verdict: 'failed', charge: 'origin' },
  connect_refused: { verdict: 'failed', charge: 'origin' },
  connect_failed: { verdict: 'failed', charge: 'origin' },
  connect_timed_out: { verdict: 'failed', charge: 'origin' },
  tls_failed: { verdict: 'failed', charge: 'origin' },
  // After the connection: other paths of the host may work.
  reset: { verdict: 'failed', charge: 'receiver' },
  malformed_answer: { verdict: 'failed', charge: 'receiver' },
  timed_out: { verdict: 'failed', charge: 'receiver' },
  proxy_failed: { verdict: 'own', charge: 'nobody' },
  no_dns: { verdict: 'own', charge: 'nobody' },
  internal_error: { verdict: 'own', charge: 'nobody' },
  interrupted: { verdict: 'interrupted', charge: 'nobody' },
};

export const verdictOf = (reason: DeliveryAttemptResult): Verdict => CONSEQUENCES[reason].verdict;

/** Whether an attempt with this result counts against somebody. */
export const isCharged = (reason: DeliveryAttemptResult): boolean => CONSEQUENCES[reason].charge !== 'nobody';

export type Outcome = 'success' | 'failure' | 'neutral';

/** What counts for the breaker of the origin, and for that of the receiver. */
export const outcomesOf = (
  reason: DeliveryAttemptResult,
): { readonly origin: Outcome; readonly receiver: Outcome } => {
  const { verdict, charge } = CONSEQUENCES[reason];
  switch (charge) {
    case 'origin':
      return { origin: 'failure', receiver: 'neutral' };
    case 'receiver':
      return { origin: 'success', receiver: 'failure' };
    case 'nobody':
      // Any response shows that the receiver is there. A request that was not sent shows nothing.
      return verdict === 'own' || verdict === 'interrupted' || reason === 'forbidden'
        ? { origin: 'neutral', receiver: 'neutral' }
        : { origin: 'success', receiver: 'success' };
  }
};
