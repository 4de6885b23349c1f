import { partitionOf } from '@runledger/contracts/deliveries/timers';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  answers,
  inFlight,
  receiver,
  SECOND,
  observeReceivers,
  type ObservedReceivers,
} from './observed-receivers.ts';

let observed: ObservedReceivers;
beforeEach(() => {
  observed = observeReceivers();
});

const A = receiver('a');
const B = receiver('b');

describe('a receiver', () => {
  it('gets one attempt at first, one more with every success, and at most 32', () => {
    const items = observed.submitMany(600, A);
    const limits: number[] = [];
    for (let round = 0; round < 8; round += 1) {
      limits.push(inFlight(items).length);
      observed.endAll(items, 'accepted');
    }
    expect(limits).toEqual([1, 2, 4, 8, 16, 32, 32, 32]);
  });

  it('gets one attempt at a time after a failure of its own', () => {
    const items = observed.submitMany(50, A);
    observed.endAll(items, 'accepted');
    observed.endAll(items, 'accepted');
    const [failing, ...others] = inFlight(items);
    expect(others).toHaveLength(3);
    failing?.end('server_error');
    observed.pass();
    expect(inFlight(items)).toEqual(others);
    observed.endAll(items, 'throttled');
    expect(inFlight(items)).toHaveLength(1);
    observed.endAll(items, 'accepted');
    expect(inFlight(items)).toHaveLength(2);
  });

  it.each(['interrupted', 'no_dns', 'forbidden', 'nothing'] as const)('keeps its limit after %s', (sent) => {
    const items = observed.submitMany(20, A);
    observed.endAll(items, 'accepted');
    observed.endAll(items, sent);
    expect(inFlight(items)).toHaveLength(2);
    expect(observed.state.breakers.size).toBe(0);
  });

  it('gets final notifications before intermediate ones, each kind in its order', () => {
    const first = observed.submitMany(1, A);
    const others = [observed.submit(A, { final: false }), observed.submit(A, { final: false })];
    const finals = observed.submitMany(2, A);
    for (let round = 0; round < 6; round += 1) observed.endAll(observed.begun, 'nothing');
    expect(observed.begun).toEqual([...first, ...finals, ...others]);
  });

  it('that hangs uses only its own permits', () => {
    const hanging = observed.submitMany(50, A);
    const answered = observed.submitMany(50, B, { behaviour: answers('accepted') });
    observed.pass(SECOND);
    expect(inFlight(hanging)).toHaveLength(1);
    expect(answered.filter(({ ended }) => ended === 1)).toHaveLength(50);
  });
});

describe('a waiting notification', () => {
  it('is deferred after five seconds, and attempted later', () => {
    const items = observed.submitMany(5, A);
    observed.pass(5 * SECOND);
    expect(items.map(({ deferrals }) => deferrals)).toEqual([0, 0, 0, 0, 0]);
    observed.pass(SECOND);
    expect(items.map(({ deferrals }) => deferrals)).toEqual([0, 1, 1, 1, 1]);
    expect(observed.state.waiting).toBe(0);
    for (let round = 0; round < 4; round += 1) {
      observed.endAll(items, 'accepted');
      observed.pass(SECOND);
    }
    expect(items.map(({ ended }) => ended)).toEqual([1, 1, 1, 1, 1]);
  });

  it('is replaced by the final one of its run, and not sent', () => {
    const first = observed.submit(A);
    const second = observed.submit(A, { final: false });
    expect(observed.state.waiting).toBe(1);
    observed.endRun(first);
    expect(observed.state.waiting).toBe(1);
    observed.endRun(second);
    expect(observed.state.waiting).toBe(1);
    observed.endAll([first], 'accepted');
    observed.pass(10 * SECOND);
    expect(observed.begun.map(({ run }) => run)).toEqual([first.run, second.run]);
    expect(
      observed.state.attempts
        .values()
        .map(({ content }) => content.kind)
        .toArray(),
    ).toEqual(['final']);
  });

  it('is one of a bounded number for each receiver; more are deferred at once', () => {
    const items = observed.submitMany(2_010, A);
    expect(observed.state.waiting).toBe(2_000);
    expect(items.filter(({ deferrals }) => deferrals === 1)).toEqual(items.slice(2_001));
    const other = observed.submit(B);
    expect(other.begun).toBe(1);
    observed.pass();
  });

  it('is one of a bounded number for all receivers together', () => {
    for (let host = 0; host < 26; host += 1) observed.submitMany(2_000, receiver(`h${host}`));
    expect(observed.state.waiting).toBe(50_000);
    observed.pass(6 * SECOND);
    expect(observed.state.waiting).toBe(0);
  });

  it('is not attempted when its partition is being handed over', () => {
    const first = observed.submit(A);
    const items = observed.submitMany(3, A);
    const partition = partitionOf(A.origin);
    observed.core.handle({ type: 'partition_closing', partition });
    expect(observed.state.waiting).toBe(0);
    observed.endAll([first], 'accepted');
    items.push(observed.submit(A));
    observed.pass(60 * SECOND);
    expect(items.map(({ begun, deferrals }) => [begun, deferrals])).toEqual(items.map(() => [0, 0]));
    expect(observed.core.others).toContainEqual({ type: 'partition_idle', partition });
  });
});
