import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nameOf } from '../../../src/core/receivers/receiver.ts';
import {
  answers,
  endAll,
  inFlight,
  pass,
  receiver,
  SECOND,
  useStoppedTime,
  watchedDispatcher,
  type Watched,
} from './observed-dispatcher.ts';

useStoppedTime();

let watched: Watched;
beforeEach(() => {
  watched = watchedDispatcher();
});
afterEach(() => watched.close());

const MINE = receiver('shared', 'mine');
const YOURS = receiver('shared', 'yours');
const ELSEWHERE = receiver('elsewhere', 'mine');

describe('two organisations at one origin', () => {
  it('do not suffer from each other when one gets 5xx', async () => {
    const mine = watched.submitMany(10, MINE, { behaviour: answers('server_error') });
    await pass(SECOND);
    expect(mine.filter(({ ended }) => ended > 0)).toHaveLength(5);
    expect(watched.breakers.state(nameOf(MINE)).kind).toBe('open');
    const [yours] = watched.submitMany(1, YOURS, { behaviour: answers('accepted') });
    await pass(SECOND);
    expect(yours?.ended).toBe(1);
  });

  it('are both left alone when nobody can reach it', async () => {
    watched.submitMany(10, MINE, { behaviour: answers('connect_refused') });
    await pass(SECOND);
    expect(watched.breakers.state(MINE.origin).kind).toBe('open');
    const yours = watched.submit(YOURS);
    const elsewhere = watched.submit(ELSEWHERE);
    expect([yours.begun, yours.putOffs, elsewhere.begun]).toEqual([0, 1, 1]);
  });

  it('share the probes of the origin', async () => {
    const all = [...watched.submitMany(20, MINE), ...watched.submitMany(20, YOURS)];
    watched.trip(MINE.origin);
    await endAll(all, 'nothing');
    await pass(32 * SECOND);
    const probed: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      probed.push(inFlight(all).length);
      await endAll(all, 'accepted');
      await pass(SECOND);
    }
    expect(probed[0]).toBe(1);
    expect(probed[1]).toBe(2);
    expect(probed[2]).toBe(4);
    expect(probed[3]).toBeLessThanOrEqual(8);
    expect(new Set(all.filter(({ ended }) => ended > 0).map((item) => item.receiver.org_id)).size).toBe(2);
  });
});

describe('the probe of an origin', () => {
  it("is the next organisation's when the first had nothing to say", async () => {
    watched.trip(MINE.origin);
    const all = [watched.submit(MINE), watched.submit(YOURS)];
    await pass(32 * SECOND);
    const [first, ...others] = inFlight(all);
    expect(others).toEqual([]);
    first?.end('nothing');
    await pass();
    expect(inFlight(all)).toEqual(all.filter((item) => item !== first));
  });
});

describe('an open breaker', () => {
  it('puts off what waits and what comes, of its receiver only', async () => {
    const mine = watched.submitMany(5, MINE);
    const elsewhere = watched.submitMany(5, ELSEWHERE);
    watched.trip(nameOf(MINE));
    mine.push(watched.submit(MINE), watched.submit(MINE, { final: false }));
    expect(mine.map(({ putOffs }) => putOffs)).toEqual([0, 1, 1, 1, 1, 1, 1]);
    expect(elsewhere.every(({ putOffs }) => putOffs === 0)).toBe(true);
    expect(watched.dispatcher.waiting).toBe(4);
    await pass();
  });

  it('lets one through when its time is over, then 2, 4 and 8, until all is sent', async () => {
    watched.trip(nameOf(MINE));
    const items = watched.submitMany(60, MINE);
    await pass(29 * SECOND);
    expect(watched.begun).toEqual([]);
    await pass(3 * SECOND);
    const rounds: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      rounds.push(inFlight(items).length);
      await endAll(items, 'accepted');
      await pass(SECOND);
    }
    expect(rounds.slice(0, 4)).toEqual([1, 2, 4, 8]);
    expect(watched.breakers.state(nameOf(MINE)).kind).toBe('closed');
    for (let round = 0; round < 10; round += 1) {
      await endAll(items, 'accepted');
      await pass(SECOND);
    }
    expect(items.map(({ ended }) => ended)).toEqual(items.map(() => 1));
  });

  it('lets one through at a time, however long it hangs and whatever comes meanwhile', async () => {
    watched.trip(nameOf(MINE));
    const items = watched.submitMany(10, MINE);
    await pass(32 * SECOND);
    expect(inFlight(items)).toHaveLength(1);
    items.push(watched.submit(MINE));
    await pass(14 * SECOND);
    expect(watched.begun).toHaveLength(1);
    await endAll(items, 'timed_out');
    expect(watched.breakers.state(nameOf(MINE)).kind).toBe('open');
    expect(watched.begun).toHaveLength(1);
    await pass(50 * SECOND);
    expect(watched.begun).toHaveLength(1);
    await pass(12 * SECOND);
    expect(watched.begun).toHaveLength(2);
  });

  it('sends no second probe because the origin answered while the receiver failed', async () => {
    watched.trip(MINE.origin);
    watched.trip(nameOf(MINE));
    const items = watched.submitMany(10, MINE);
    await pass(32 * SECOND);
    expect(inFlight(items)).toHaveLength(1);
    await endAll(items, 'server_error');
    expect(inFlight(items)).toEqual([]);
    expect(watched.breakers.state(nameOf(MINE)).kind).toBe('open');
    expect(watched.breakers.state(MINE.origin).kind).toBe('probing');
  });

  it('asks for another probe when one said nothing', async () => {
    watched.trip(nameOf(MINE));
    const items = watched.submitMany(3, MINE);
    await pass(32 * SECOND);
    await endAll(items, 'nothing');
    await pass(SECOND);
    expect(inFlight(items)).toHaveLength(1);
    await endAll(items, 'no_dns');
    await pass(SECOND);
    expect(inFlight(items)).toHaveLength(1);
  });
});

describe('very many receivers that are dead', () => {
  it('are asked for a few at a time, and keep nobody from those that live', async () => {
    const most = 64;
    watched.close();
    watched = watchedDispatcher({ most, readMs: 20 });
    const dead = Array.from({ length: 5_000 }, (_, at) => receiver(`dead${at}`, `org${at % 50}`));
    for (const one of dead) watched.trip(nameOf(one));
    for (const one of dead) watched.submitMany(2, one, { behaviour: answers('timed_out', 15 * SECOND) });
    expect(watched.refills.all).toBe(0);
    await pass(31 * SECOND);
    const living = watched.submitMany(500, receiver('living', 'org1'), { behaviour: answers('accepted') });
    await pass(20 * SECOND);
    expect(living.every(({ ended }) => ended === 1)).toBe(true);
    expect(watched.refills.most).toBeLessThanOrEqual(128);
    // Not every second for each of them, but as places become free.
    expect(watched.refills.all).toBeLessThan(2_000);
    expect(watched.dispatcher.inFlight).toBeLessThanOrEqual(most);
  });

  it('are all probed in the end', async () => {
    const dead = Array.from({ length: 300 }, (_, at) => receiver(`dead${at}`, `org${at % 3}`));
    for (const one of dead) watched.trip(nameOf(one));
    const items = dead.map((one) => watched.submit(one, { behaviour: answers('timed_out', 15 * SECOND) }));
    await pass(200 * SECOND);
    expect(items.every(({ begun }) => begun > 0)).toBe(true);
  });
});
