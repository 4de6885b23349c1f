import type { DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verdictOf } from '../../src/core/conclusion.ts';
import type { Receiver } from '../../src/core/receiver.ts';
import { isBlocked } from '../../src/core/queueing.ts';
import { knownReceivers, type KnownReceiver } from '../../src/core/known-receivers.ts';
import type { NotifierState } from '../../src/core/state.ts';
import { inFlight, observeReceivers, receiver, SECOND } from './receivers/observed-receivers.ts';

/** Two organisations, one origin that they share, and one of each. */
const RECEIVERS = [
  receiver('shared', 'a'),
  receiver('shared', 'b'),
  receiver('only-a', 'a'),
  receiver('only-b', 'b'),
] as const;

interface Step {
  readonly to: number;
  readonly sent: DeliveryAttemptResult;
  readonly waitMs: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  to: fc.nat(RECEIVERS.length - 1),
  sent: fc.constantFrom<DeliveryAttemptResult>(
    'accepted',
    'gone',
    'client_error',
    'server_error',
    'connect_refused',
    'timed_out',
    'no_dns',
  ),
  waitMs: fc.constantFrom(0, 100, 5 * SECOND, 40 * SECOND),
});

const isRefusal = (sent: DeliveryAttemptResult): boolean => ['failed', 'gone'].includes(verdictOf(sent));

const knownOf = (state: NotifierState, { org_id, origin }: Receiver): KnownReceiver | undefined => {
  const { receivers } = knownReceivers(state, { org_id, host: null, origins: [] }, 500);
  if (receivers.some((one) => one.org_id !== org_id)) throw new Error('it is of another organisation');
  return receivers.find((one) => one.origin === origin);
};

/** What is said of a receiver, and is not so. `made`: the results of the attempts of its organisation. */
const contradictions = (
  known: KnownReceiver | undefined,
  made: readonly DeliveryAttemptResult[],
  blocked: boolean,
  now: number,
): string[] => {
  if (!known) return made.length === 0 ? [] : ['it is not known'];
  const { breaker, record, maxInFlight } = known;
  const failures = made.length - 1 - made.lastIndexOf('accepted');
  const isOpen = breaker.state === 'open';
  const facts: Readonly<Record<string, boolean>> = {
    failures: record.failuresInARow === failures,
    'the last failure': record.lastFailure?.reason === made.findLast(isRefusal),
    'since when it fails': (record.failingSince === undefined) === (failures === 0),
    'that it is open': isOpen === blocked,
    'that nothing may be in flight': (maxInFlight === 0) === isOpen,
    'the next probe': (breaker.until !== undefined && breaker.until > now) === isOpen,
    'since when a shared one is open': !breaker.shared || breaker.since === undefined,
  };
  return Object.keys(facts).filter((name) => !facts[name]);
};

describe('what a notifier says of receivers', () => {
  it('is what became of the attempts of the organisation, and the state by which the notifier acts', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const observed = observeReceivers();
        const results = new Map<Receiver, DeliveryAttemptResult[]>();
        for (const { to, sent, waitMs } of steps) {
          const target = RECEIVERS[to] ?? RECEIVERS[0];
          const sending = observed.submit(target);
          if (inFlight([sending]).length > 0) results.set(target, [...(results.get(target) ?? []), sent]);
          sending.end(sent);
          observed.pass(waitMs);
        }
        const { state, core } = observed;
        const said = RECEIVERS.map((target) => {
          const made = (results.get(target) ?? []).filter((sent) => sent !== 'no_dns');
          return contradictions(knownOf(state, target), made, isBlocked(state, target), core.now());
        });
        expect(said).toEqual(RECEIVERS.map(() => []));
      }),
      { numRuns: casesOf(30) },
    );
  });
});
