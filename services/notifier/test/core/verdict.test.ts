import {
  DELIVERY_ATTEMPT_RESULTS,
  type DeliveryAttemptResult,
} from '@runledger/contracts/events/webhook-event';
import { describe, expect, it } from 'vitest';
import { isCharged, outcomesOf, verdictOf, type Outcome, type Verdict } from '../../src/core/conclusion.ts';

type Row = readonly [verdict: Verdict, origin: Outcome, receiver: Outcome];

/** The verdict on the delivery, and the outcomes for the breakers of the origin and of the receiver. */
const TABLE: Readonly<Record<DeliveryAttemptResult, Row>> = {
  accepted: ['accepted', 'success', 'success'],
  gone: ['gone', 'success', 'success'],
  redirect: ['failed', 'success', 'success'],
  client_error: ['failed', 'success', 'success'],
  throttled: ['failed', 'success', 'failure'],
  server_error: ['failed', 'success', 'failure'],
  forbidden: ['failed', 'neutral', 'neutral'],
  name_not_found: ['failed', 'failure', 'neutral'],
  name_unanswered: ['failed', 'failure', 'neutral'],
  connect_refused: ['failed', 'failure', 'neutral'],
  connect_failed: ['failed', 'failure', 'neutral'],
  connect_timed_out: ['failed', 'failure', 'neutral'],
  tls_failed: ['failed', 'failure', 'neutral'],
  reset: ['failed', 'success', 'failure'],
  malformed_answer: ['failed', 'success', 'failure'],
  timed_out: ['failed', 'success', 'failure'],
  proxy_failed: ['own', 'neutral', 'neutral'],
  no_dns: ['own', 'neutral', 'neutral'],
  interrupted: ['interrupted', 'neutral', 'neutral'],
  internal_error: ['own', 'neutral', 'neutral'],
};

describe('an attempt that ended', () => {
  it.each(DELIVERY_ATTEMPT_RESULTS)(
    'with %s has one consequence for the delivery and for each breaker',
    (reason) => {
      const [verdict, origin, receiver] = TABLE[reason];
      expect(verdictOf(reason)).toBe(verdict);
      expect(outcomesOf(reason)).toEqual({ origin, receiver });
    },
  );

  it.each(DELIVERY_ATTEMPT_RESULTS)(
    'with %s limits its receiver exactly when a breaker counts it as a failure',
    (reason) => {
      const { origin, receiver } = outcomesOf(reason);
      expect(isCharged(reason)).toBe(origin === 'failure' || receiver === 'failure');
    },
  );
});
