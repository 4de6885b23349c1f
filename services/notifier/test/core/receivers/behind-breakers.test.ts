import { beforeEach, describe, expect, it } from 'vitest';
import { receiverKey } from '../../../src/core/receiver.ts';
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

const MINE = receiver('shared', 'mine');
const YOURS = receiver('shared', 'yours');
const ELSEWHERE = receiver('elsewhere', 'mine');

describe('two organisations at one origin', () => {
  it('do not affect each other when one of them gets 5xx', () => {
    const mine = observed.submitMany(10, MINE, { behaviour: answers('server_error') });
    observed.pass(SECOND);
    expect(mine.filter(({ ended }) => ended > 0)).toHaveLength(5);
    expect(observed.state.breakers.state(receiverKey(MINE)).kind).toBe('open');
    const [yours] = observed.submitMany(1, YOURS, { behaviour: answers('accepted') });
    observed.pass(SECOND);
    expect(yours?.ended).toBe(1);
  });

  it('both get no attempts when the origin cannot be reached', () => {
    observed.submitMany(10, MINE, { behaviour: answers('connect_refused') });
    observed.pass(SECOND);
    expect(observed.state.breakers.state(MINE.origin).kind).toBe('open');
    const yours = observed.submit(YOURS);
    const elsewhere = observed.submit(ELSEWHERE);
    expect([yours.begun, yours.deferrals, elsewhere.begun]).toEqual([0, 1, 1]);
  });

  it('share the probes of the origin', () => {
    const all = [...observed.submitMany(20, MINE), ...observed.submitMany(20, YOURS)];
    observed.trip(MINE.origin);
    observed.endAll(all, 'nothing');
    observed.pass(32 * SECOND);
    const probed: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      probed.push(inFlight(all).length);
      observed.endAll(all, 'accepted');
      observed.pass(SECOND);
    }
    expect(probed[0]).toBe(1);
    expect(probed[1]).toBe(2);
    expect(probed[2]).toBe(4);
    expect(probed[3]).toBeLessThanOrEqual(8);
    expect(new Set(all.filter(({ ended }) => ended > 0).map((item) => item.receiver.org_id)).size).toBe(2);
  });
});

describe('the probe of an origin', () => {
  it('is made for the next organisation when the first has nothing to send', () => {
    observed.trip(MINE.origin);
    const all = [observed.submit(MINE), observed.submit(YOURS)];
    observed.pass(32 * SECOND);
    const [first, ...others] = inFlight(all);
    expect(others).toEqual([]);
    first?.end('nothing');
    observed.pass();
    expect(inFlight(all)).toEqual(all.filter((item) => item !== first));
  });
});

describe('an open breaker', () => {
  it('defers waiting and new notifications, of its own receiver only', () => {
    const mine = observed.submitMany(5, MINE);
    const elsewhere = observed.submitMany(5, ELSEWHERE);
    observed.trip(receiverKey(MINE));
    mine.push(observed.submit(MINE));
    const intermediate = observed.submit(MINE, { final: false });
    expect(mine.map(({ deferrals }) => deferrals)).toEqual([0, 1, 1, 1, 1, 1]);
    // It waits in memory until it is queued again.
    expect(observed.state.outboxes.get(intermediate.run)).toMatchObject({ stage: { kind: 'idle' } });
    expect(intermediate.begun).toBe(0);
    expect(elsewhere.every(({ deferrals }) => deferrals === 0)).toBe(true);
    expect(observed.state.waiting).toBe(4);
    observed.pass();
  });

  it('allows one attempt when its time is over, then 2, 4 and 8, until all notifications are sent', () => {
    observed.trip(receiverKey(MINE));
    const items = observed.submitMany(60, MINE);
    observed.pass(29 * SECOND);
    expect(observed.begun).toEqual([]);
    observed.pass(3 * SECOND);
    const rounds: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      rounds.push(inFlight(items).length);
      observed.endAll(items, 'accepted');
      observed.pass(SECOND);
    }
    expect(rounds.slice(0, 4)).toEqual([1, 2, 4, 8]);
    expect(observed.state.breakers.state(receiverKey(MINE)).kind).toBe('closed');
    for (let round = 0; round < 10; round += 1) {
      observed.endAll(items, 'accepted');
      observed.pass(SECOND);
    }
    expect(items.map(({ ended }) => ended)).toEqual(items.map(() => 1));
  });

  it('allows one probe at a time, however long it hangs, also when new notifications arrive', () => {
    observed.trip(receiverKey(MINE));
    const items = observed.submitMany(10, MINE);
    observed.pass(32 * SECOND);
    expect(inFlight(items)).toHaveLength(1);
    items.push(observed.submit(MINE));
    observed.pass(14 * SECOND);
    expect(observed.begun).toHaveLength(1);
    observed.endAll(items, 'timed_out');
    expect(observed.state.breakers.state(receiverKey(MINE)).kind).toBe('open');
    expect(observed.begun).toHaveLength(1);
    observed.pass(50 * SECOND);
    expect(observed.begun).toHaveLength(1);
    observed.pass(12 * SECOND);
    expect(observed.begun).toHaveLength(2);
  });

  it('allows no second probe when the origin answers but the receiver fails', () => {
    observed.trip(MINE.origin);
    observed.trip(receiverKey(MINE));
    const items = observed.submitMany(10, MINE);
    observed.pass(32 * SECOND);
    expect(inFlight(items)).toHaveLength(1);
    observed.endAll(items, 'server_error');
    expect(inFlight(items)).toEqual([]);
    expect(observed.state.breakers.state(receiverKey(MINE)).kind).toBe('open');
    expect(observed.state.breakers.state(MINE.origin).kind).toBe('probing');
  });

  it('allows another probe when one had no result', () => {
    observed.trip(receiverKey(MINE));
    const items = observed.submitMany(3, MINE);
    observed.pass(32 * SECOND);
    observed.endAll(items, 'nothing');
    observed.pass(SECOND);
    expect(inFlight(items)).toHaveLength(1);
    observed.endAll(items, 'no_dns');
    observed.pass(SECOND);
    expect(inFlight(items)).toHaveLength(1);
  });
});

describe('a redelivery that somebody requests', () => {
  it.each([MINE.origin, receiverKey(MINE)])('is the probe of a breaker that was to stay open (%s)', (key) => {
    const [sent] = observed.submitMany(1, MINE, { behaviour: answers('accepted') });
    observed.pass(SECOND);
    observed.trip(key, 900 * SECOND);
    const deferred = observed.submitMany(20, MINE, { behaviour: answers('accepted') });
    observed.pass(60 * SECOND);
    expect(deferred.map(({ begun }) => begun)).toEqual(deferred.map(() => 0));
    if (sent) observed.redeliver(sent);
    expect(sent?.begun).toBe(2);
    observed.pass(60 * SECOND);
    expect(deferred.map(({ ended }) => ended)).toEqual(deferred.map(() => 1));
  });

  it('is no reason to ask a receiver more often than every 30 seconds', () => {
    const items = observed.submitMany(100, MINE, { behaviour: answers('server_error') });
    observed.pass(31 * SECOND);
    const before = observed.begun.length;
    for (const item of items) {
      observed.redeliver(item);
      observed.pass(3 * SECOND);
    }
    expect(observed.begun.length - before).toBeLessThanOrEqual(10);
  });
});

describe('very many receivers that do not respond', () => {
  it('have their deferred deliveries loaded a few at a time, and hold up no other receiver', () => {
    const most = 64;
    observed = observeReceivers({ maxInFlight: most, readMs: 20 });
    const dead = Array.from({ length: 5_000 }, (_, at) => receiver(`dead${at}`, `org${at % 50}`));
    for (const one of dead) observed.trip(receiverKey(one));
    for (const one of dead) observed.submitMany(2, one, { behaviour: answers('timed_out', 15 * SECOND) });
    expect(observed.core.loads.all).toBe(0);
    observed.pass(31 * SECOND);
    const living = observed.submitMany(500, receiver('living', 'org1'), { behaviour: answers('accepted') });
    observed.pass(20 * SECOND);
    expect(living.every(({ ended }) => ended === 1)).toBe(true);
    expect(observed.core.loads.most).toBeLessThanOrEqual(128);
    // Not every second for each of them, but as permits become free.
    expect(observed.core.loads.all).toBeLessThan(2_000);
    expect(observed.state.limits.inFlight).toBeLessThanOrEqual(most);
  });

  it('are all probed in the end', () => {
    const dead = Array.from({ length: 300 }, (_, at) => receiver(`dead${at}`, `org${at % 3}`));
    for (const one of dead) observed.trip(receiverKey(one));
    const items = dead.map((one) => observed.submit(one, { behaviour: answers('timed_out', 15 * SECOND) }));
    observed.pass(200 * SECOND);
    expect(items.every(({ begun }) => begun > 0)).toBe(true);
  });
});
