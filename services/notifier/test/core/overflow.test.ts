import { partitionOf } from '@runledger/contracts/deliveries/timers';
import type { DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { waitsInLog } from '../../src/core/reconciling.ts';
import type { AttemptReport } from '../../src/core/delivery.ts';
import type { EndMessage, Found } from '../../src/core/inputs-and-effects.ts';
import { positionOf, type Partition } from '../../src/core/partition.ts';
import { SECOND, simulateCore, type SimulatedCore } from './simulated-core.ts';

const ORG = orgId(newUuid());
const ORIGIN = 'https://receiver.example';
const PARTITION = partitionOf(ORIGIN);
const DAY = 86_400 * SECOND;

const endOf = (core: SimulatedCore, sequence = core.nextSequence()): EndMessage => ({
  partition: PARTITION,
  key: { org_id: ORG, run_id: runId(newUuid()) },
  origin: ORIGIN,
  sequence,
  time: core.now(),
  oldestFactAt: core.now(),
});

const tripFor = (core: SimulatedCore, ms: number): void =>
  core.handle({ type: 'opening_found', origin: ORIGIN, org_id: ORG, opens: 1, until: core.now() + ms });

const held = ({ state }: SimulatedCore): Partition => {
  const partition = state.partitions.get(PARTITION);
  if (!partition) throw new Error('the partition is not held');
  return partition;
};

const find = (core: SimulatedCore, message: EndMessage, found: Found = { kind: 'outside', round: 1 }): void =>
  core.handle({ type: 'unsettled_found', ...message, found });

/** A core whose TIMERS has no room, and the runs whose notifications it began to send, or to give up. */
const withoutRoom = (): { readonly core: SimulatedCore; readonly begun: string[]; deferrals: number } => {
  const core = simulateCore();
  const observed = { core, begun: [] as string[], deferrals: 0 };
  core.surroundings.attempt = (effect) =>
    void observed.begun.push(effect.type === 'attempt_final' ? effect.delivery.key.run_id : '');
  core.surroundings.defer = ({ delivery }) => {
    observed.deferrals += 1;
    core.handle({ type: 'deferral_finished', run: delivery.key.run_id, outcome: { kind: 'no_room' } });
  };
  return observed;
};

const answered = (core: SimulatedCore, reason: DeliveryAttemptResult): AttemptReport => ({
  kind: 'sent',
  result: { reason, message: '', status: null, retry_after: null },
  round: 1,
  attempts: 0,
  expiresAt: core.now() + DAY,
  endedAt: core.now(),
});

/** Leaves this many in the log, and begins a round. */
const leave = (count: number, openMs = 60 * SECOND) => {
  const observed = withoutRoom();
  const { core } = observed;
  tripFor(core, openMs);
  const left = Array.from({ length: count }, () => endOf(core));
  for (const message of left) core.handle({ type: 'run_ended', ...message });
  core.handle({ type: 'round_begun', partitions: [PARTITION] });
  return { ...observed, left };
};

describe('a delivery that TIMERS has no room for', () => {
  it('is left in the log: the position moves on, names it, and nothing stays in memory', () => {
    const { core, left } = leave(3);
    expect(positionOf(held(core))).toMatchObject({ runs: left.at(-1)?.sequence, left: left[0]?.sequence });
    expect(held(core).left.count).toBe(3);
    expect(core.state.outboxes.size).toBe(0);
  });

  it('waits there while the breaker is open, and is sent when it lets probes through', () => {
    const { core, begun, left } = leave(1);
    for (const message of left) find(core, message);
    expect(begun).toEqual([]);
    core.pass(61 * SECOND);
    expect(core.state.roundWanted).toBe(true);
    for (const message of left) find(core, message);
    expect(begun).toEqual(left.map(({ key }) => key.run_id));
  });

  it('is dropped from memory, and not stored, when the breaker opens again', () => {
    const observed = leave(2, SECOND);
    const { core, left } = observed;
    core.pass(2 * SECOND);
    for (const message of left) find(core, message);
    const before = observed.deferrals;
    expect(core.state.outboxes.size).toBe(2);
    const [attempt] = core.state.attempts.keys();
    const report = answered(core, 'server_error');
    core.handle({ type: 'attempt_finished', attempt: attempt ?? 0, report });
    expect(core.state.outboxes.size).toBe(0);
    expect(observed.deferrals).toBe(before);
  });

  it('is attempted again when its retry is due, not by every round, and keeps its count of attempts', () => {
    const observed = leave(1, SECOND);
    const { core, begun, left } = observed;
    const [message] = left;
    if (!message) throw new Error('one was left');
    core.surroundings.conclude = ({ attempt }) => {
      const retry = { at: core.now() + 120 * SECOND, attempts: 3 };
      core.handle({ type: 'attempt_concluded', attempt, outcome: { kind: 'no_room', retry } });
    };
    core.pass(2 * SECOND);
    find(core, message);
    expect(begun).toHaveLength(1);
    core.handle({ type: 'attempt_finished', attempt: 1, report: answered(core, 'client_error') });
    core.handle({ type: 'round_begun', partitions: [PARTITION] });
    expect(waitsInLog(core.state, message)).toBe(true);
    find(core, message);
    expect(begun).toHaveLength(1);
    expect(core.state.roundWanted).toBe(false);
    expect(core.state.outboxes.size).toBe(0);

    core.pass(121 * SECOND);
    expect(waitsInLog(core.state, message)).toBe(false);
    find(core, message);
    expect(begun).toHaveLength(2);
    expect(core.state.attempts.values().toArray()).toMatchObject([
      { content: { delivery: { attempts: 3 } } },
    ]);
  });

  it('begins with its first attempt when somebody asks to send it again', () => {
    const { core, begun, left } = leave(1, SECOND);
    const [message] = left;
    if (!message) throw new Error('one was left');
    core.pass(2 * SECOND);
    core.state.leftRetries.note(message.key.run_id, { at: core.now() + DAY, attempts: 3 });
    const request = { ...message, sequence: core.nextSequence(), round: 2 };
    core.handle({ type: 'redelivery_requested', ...request });
    expect(begun).toHaveLength(1);
    expect(core.state.attempts.values().toArray()).toMatchObject([
      { content: { delivery: { attempts: 0, round: 2 } } },
    ]);
  });

  it('is attempted, although its time is over, and the next one is given up because that failed', () => {
    const { core, begun, left } = leave(2);
    const [first, second] = left;
    if (!first || !second) throw new Error('two were left');
    core.pass(6 * DAY);
    find(core, first);
    expect(core.state.limits.inFlight).toBe(1);
    const [attempt] = core.state.attempts.keys();
    core.handle({ type: 'attempt_finished', attempt: attempt ?? 0, report: answered(core, 'server_error') });
    expect(waitsInLog(core.state, second)).toBe(false);
    find(core, second);
    expect(begun).toEqual(left.map(({ key }) => key.run_id));
    expect(core.state.limits.inFlight).toBe(0);
  });

  it('waits for the next probe when its time is over behind an open breaker', () => {
    const { core, begun, left } = leave(2);
    const [first, second] = left;
    if (!first || !second) throw new Error('two were left');
    core.pass(6 * DAY - SECOND);
    find(core, first);
    const [attempt] = core.state.attempts.keys();
    core.handle({ type: 'attempt_finished', attempt: attempt ?? 0, report: answered(core, 'server_error') });
    core.pass(2 * SECOND);
    expect(waitsInLog(core.state, second)).toBe(true);
    find(core, second);
    expect(begun).toEqual([first.key.run_id]);
  });

  it('is not given to a receiver that has not proven to answer by the hundred', () => {
    const { core, left } = leave(300, SECOND);
    core.pass(2 * SECOND);
    for (const message of left) find(core, message);
    expect(core.state.outboxes.size).toBeLessThanOrEqual(4);
    expect(core.state.roundWanted).toBe(true);
  });

  it('counts until a round finds it no more', () => {
    const { core, left } = leave(2);
    const [first, second] = left;
    if (!first || !second) throw new Error('two were left');
    find(core, second);
    core.handle({ type: 'round_ended', partitions: [PARTITION] });
    expect(held(core).left).toEqual({ from: second.sequence, count: 1 });
    expect(positionOf(held(core))).toMatchObject({ swept: first.sequence, left: second.sequence });
    core.handle({ type: 'round_begun', partitions: [PARTITION] });
    core.handle({ type: 'round_ended', partitions: [PARTITION] });
    expect(positionOf(held(core))).toMatchObject({ swept: second.sequence, left: 0 });
  });
});

describe('more deliveries than can be deferred at once', () => {
  it('stay in the log: the memory for them is bounded', () => {
    const core = simulateCore();
    core.surroundings.defer = () => undefined;
    tripFor(core, 60 * SECOND);
    for (let count = 0; count < 3_000; count += 1) core.handle({ type: 'run_ended', ...endOf(core) });
    expect(core.state.outboxes.size).toBe(1_000);
    expect(held(core).left.count).toBe(2_000);
  });
});

describe('a round of the reconciliation', () => {
  it('never passes what is not settled, wherever it is', () => {
    const { core, left } = leave(3);
    const [first, second, third] = left;
    if (!first || !second || !third) throw new Error('three were left');
    find(core, second, { kind: 'timer', isDeferred: false });
    core.handle({ type: 'checked_up_to', partitions: [PARTITION], sequence: third.sequence });
    expect(held(core).sweptUpTo).toBe(first.sequence);
  });

  it('counts for nothing when the partition is handed over during it: what it finds is not taken any more', () => {
    const { core, left } = leave(2);
    const [first, second] = left;
    if (!first || !second) throw new Error('two were left');
    core.handle({ type: 'checked_up_to', partitions: [PARTITION], sequence: first.sequence });
    core.handle({ type: 'partition_closing', partition: PARTITION });
    find(core, second, { kind: 'timer', isDeferred: false });
    core.handle({ type: 'checked_up_to', partitions: [PARTITION], sequence: second.sequence });
    core.handle({ type: 'round_ended', partitions: [PARTITION] });
    expect(positionOf(held(core)).swept).toBe(first.sequence);
  });

  it('leaves out what ended since it began', () => {
    const { core, left } = leave(1);
    const later = endOf(core);
    core.handle({ type: 'run_ended', ...later });
    core.handle({ type: 'round_ended', partitions: [PARTITION] });
    expect(held(core).sweptUpTo).toBe(left[0]?.sequence);
    expect(held(core).left).toEqual({ from: later.sequence, count: 1 });
  });
});
