import { partitionOf } from '@runledger/contracts/deliveries/timers';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import type { FinalDelivery } from '../../../src/core/delivery.ts';
import { receiverKey, type Receiver } from '../../../src/core/receiver.ts';
import { SECOND, simulateCore, storeDeferred, STORED, type SimulatedCore } from '../simulated-core.ts';
import { receiver } from './observed-receivers.ts';

const DEAD = receiver('dead', 'one');
const HEALTHY = receiver('healthy', 'other');
const MANY = 20_000;

const dueAt = (core: SimulatedCore, { org_id, origin }: Receiver): FinalDelivery => {
  const sequence = core.nextSequence();
  return {
    key: { org_id: orgId(org_id), run_id: runId(newUuid()) },
    origin,
    partition: partitionOf(origin),
    round: 1,
    attempts: 3,
    expiresAt: core.now() + 86_400 * SECOND,
    fact: 1,
    source: { kind: 'due', sequence },
    mayBeSuperseded: true,
  };
};

/** Timers that are all due after an outage, for a receiver whose breaker is open or not. */
const afterOutage = ({ isOpen }: { readonly isOpen: boolean }) => {
  const core = simulateCore({ maxInFlight: 100 });
  const begun: FinalDelivery[] = [];
  core.surroundings.attempt = (effect) =>
    void (effect.type === 'attempt_final' && begun.push(effect.delivery));
  const until = core.now() + 60 * SECOND;
  if (isOpen) core.handle({ type: 'opening_found', ...DEAD, opens: 1, until });
  // A broker that is busy: nothing that is to be deferred is stored yet.
  core.surroundings.defer = () => undefined;
  const due = Array.from({ length: MANY }, () => dueAt(core, DEAD));
  for (const delivery of due) core.handle({ type: 'delivery_due', delivery });
  return { core, begun, due };
};

describe('deliveries that are all due after an outage', () => {
  it.each([true, false])('take bounded memory: the others stay in TIMERS (breaker open: %s)', (isOpen) => {
    const { core } = afterOutage({ isOpen });
    expect(core.state.outboxes.size).toBeLessThanOrEqual(isOpen ? 1_000 : 3_001);
    expect(core.others.filter(({ type }) => type === 'remove_timer')).toEqual([]);
  });

  it('delay nobody else: what is due behind them is attempted at once', () => {
    const { core, begun } = afterOutage({ isOpen: true });
    const delivery = dueAt(core, HEALTHY);
    core.handle({ type: 'delivery_due', delivery });
    expect(begun).toEqual([delivery]);
  });

  it('are loaded from there when their receiver takes notifications again', () => {
    const { core, due } = afterOutage({ isOpen: true });
    const attempted = new Set<string>();
    // Those that were being deferred are stored, and the others are in TIMERS as they were.
    core.pass(SECOND);
    for (const { stage } of core.state.outboxes.values().toArray()) {
      if (stage.kind !== 'deferring') continue;
      storeDeferred(core, stage.delivery);
      core.handle({ type: 'deferral_finished', run: stage.delivery.key.run_id, outcome: STORED });
    }
    const deferred = new Set(core.deferred.values().map(({ key }) => key.run_id));
    for (const delivery of due) {
      if (!deferred.has(delivery.key.run_id)) core.deferred.set(delivery.source.sequence, delivery);
    }
    core.surroundings.attempt = (effect) => {
      if (effect.type !== 'attempt_final') return;
      attempted.add(effect.delivery.key.run_id);
      core.after(1, () => {
        const result = { reason: 'accepted', message: '', status: 200, retry_after: null } as const;
        const progress = { round: 1, attempts: 3, expiresAt: Infinity, endedAt: 0 };
        core.handle({
          type: 'attempt_finished',
          attempt: effect.attempt,
          report: { kind: 'sent', result, ...progress },
        });
      });
    };
    core.pass(120 * SECOND);
    expect(core.state.breakers.state(receiverKey(DEAD)).kind).toBe('closed');
    expect(attempted.size).toBe(MANY);
    expect(core.state.outboxes.size).toBe(0);
  });
});
