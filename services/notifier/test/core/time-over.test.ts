import { partitionOf } from '@runledger/contracts/deliveries/timers';
import type { DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import type { FinalDelivery } from '../../src/core/delivery.ts';
import { SECOND, simulateCore, type SimulatedCore } from './simulated-core.ts';

const ORG = orgId(newUuid());
const OTHER_ORG = orgId(newUuid());
const ORIGIN = 'https://receiver.example';
const PARTITION = partitionOf(ORIGIN);

/** Deferred in TIMERS, with its time over for a minute. */
const expired = (core: SimulatedCore, changes: Partial<FinalDelivery> = {}): FinalDelivery => ({
  key: { org_id: ORG, run_id: runId(newUuid()) },
  origin: ORIGIN,
  partition: PARTITION,
  round: 1,
  attempts: 0,
  expiresAt: core.now() - 60 * SECOND,
  fact: 1,
  source: { kind: 'deferred', sequence: core.nextSequence() },
  mayBeSuperseded: true,
  ...changes,
});

/** A core, and what it attempts or gives up. */
const aCore = () => {
  const core = simulateCore();
  const begun: { readonly delivery: FinalDelivery; readonly isOver: boolean }[] = [];
  core.surroundings.attempt = (effect) => void (effect.type === 'attempt_final' && begun.push(effect));
  const find = (delivery: FinalDelivery): void => core.handle({ type: 'expired_found', delivery });
  /** An attempt of another delivery ends so. */
  const endOther = (reason: DeliveryAttemptResult, org_id = ORG): void => {
    const key = { org_id, run_id: runId(newUuid()) };
    const delivery = expired(core, { key, expiresAt: core.now() + 3_600 * SECOND });
    core.handle({
      type: 'delivery_due',
      delivery: { ...delivery, source: { ...delivery.source, kind: 'due' } },
    });
    const result = { reason, message: '', status: null, retry_after: null };
    const progress = { round: 1, attempts: 0, expiresAt: delivery.expiresAt, endedAt: core.now() };
    const attempt = core.state.lastAttempt;
    core.handle({ type: 'attempt_finished', attempt, report: { kind: 'sent', result, ...progress } });
    begun.pop();
  };
  return { core, begun, find, endOther };
};

describe('a delivery whose time is over, and which was never attempted', () => {
  it('stays where it is: it is attempted when it is loaded', () => {
    const { core, begun, find } = aCore();
    const delivery = expired(core);
    find(delivery);
    expect(begun).toEqual([]);
    core.handle({ type: 'deferred_found', delivery });
    expect(begun).toMatchObject([{ delivery, isOver: false }]);
  });

  it.each<[string, DeliveryAttemptResult, typeof ORG]>([
    ['the receiver answered with 5xx', 'server_error', ORG],
    ['nobody could connect to its origin', 'connect_refused', OTHER_ORG],
  ])('is given up when since then %s', (_why, reason, org) => {
    const { core, begun, find, endOther } = aCore();
    endOther(reason, org);
    const delivery = expired(core);
    find(delivery);
    expect(begun).toMatchObject([{ delivery, isOver: true }]);
    expect(core.state.limits.inFlight).toBe(0);
  });

  it.each<[string, DeliveryAttemptResult, typeof ORG]>([
    ['the receiver of another organisation failed', 'server_error', OTHER_ORG],
    ['the notifier itself failed', 'no_dns', ORG],
    ['the receiver accepted another one', 'accepted', ORG],
  ])('is not, when since then %s', (_why, reason, org) => {
    const { core, begun, find, endOther } = aCore();
    endOther(reason, org);
    find(expired(core));
    expect(begun).toEqual([]);
  });

  it('is not, when the receiver failed only before, or its breaker is known from an earlier holder', () => {
    const { core, begun, find, endOther } = aCore();
    endOther('server_error');
    core.pass(120 * SECOND);
    core.handle({ type: 'opening_found', origin: ORIGIN, org_id: ORG, opens: 3, until: core.now() + SECOND });
    find(expired(core));
    expect(begun).toEqual([]);
  });
});

describe('a delivery whose time is over, and which was attempted', () => {
  it('is given up at once, also behind an open breaker', () => {
    const { core, begun, find } = aCore();
    core.handle({ type: 'opening_found', origin: ORIGIN, org_id: ORG, opens: 3, until: core.now() + SECOND });
    const delivery = expired(core, { attempts: 1 });
    find(delivery);
    expect(begun).toMatchObject([{ delivery, isOver: true }]);
  });
});

describe('a delivery that waits in TIMERS for a time that was over long ago', () => {
  it('goes on as if it were due', () => {
    const { core, begun } = aCore();
    const delivery = expired(core, { attempts: 1, source: { kind: 'due', sequence: core.nextSequence() } });
    const { key, origin, partition } = delivery;
    const [sequence, now] = [core.nextSequence(), core.now()];
    core.handle({ type: 'round_begun', partitions: [partition] });
    const end = { partition, key, origin, sequence, time: now, oldestFactAt: now };
    core.handle({ type: 'unsettled_found', ...end, found: { kind: 'overdue', delivery } });
    expect(begun).toMatchObject([{ delivery, isOver: false }]);
  });
});
