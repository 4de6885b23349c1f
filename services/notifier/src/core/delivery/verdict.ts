import type { DeliveryAttemptResult } from '@runledger/contracts/events/delivery-attempt-result';

/** What a failure says of whom. `origin`: nobody can reach it. `receiver`: this organisation's callbacks there fail. */
type Charge = 'origin' | 'receiver' | 'nobody';

/** `own`: nothing that the receiver could help; it uses up no try. */
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
  // After the connection: what one path of a host does is no reason to leave others of it alone.
  reset: { verdict: 'failed', charge: 'receiver' },
  malformed_answer: { verdict: 'failed', charge: 'receiver' },
  timed_out: { verdict: 'failed', charge: 'receiver' },
  proxy_failed: { verdict: 'own', charge: 'nobody' },
  no_dns: { verdict: 'own', charge: 'nobody' },
  internal_error: { verdict: 'own', charge: 'nobody' },
  interrupted: { verdict: 'interrupted', charge: 'nobody' },
};

export const verdictOf = (reason: DeliveryAttemptResult): Verdict => CONSEQUENCES[reason].verdict;

/** Whether a try that ended so slows its receiver down. */
export const isCharged = (reason: DeliveryAttemptResult): boolean => CONSEQUENCES[reason].charge !== 'nobody';

export type Outcome = 'success' | 'failure' | 'neutral';

/** What the breaker of the origin, and that of the receiver, are told. */
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
      // Whoever answers is there, whatever it answers; what was not asked says nothing.
      return verdict === 'own' || verdict === 'interrupted' || reason === 'forbidden'
        ? { origin: 'neutral', receiver: 'neutral' }
        : { origin: 'success', receiver: 'success' };
  }
};
