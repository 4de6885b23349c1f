import { describe, expect, it } from 'vitest';
import type { Sent } from '../../../src/core/receiver.ts';
import {
  answers,
  inFlight,
  receiver,
  SECOND,
  observeReceivers,
  type Behaviour,
  type ObservedReceivers,
} from './observed-receivers.ts';

let observed: ObservedReceivers;
const open = (most: number): ObservedReceivers => (observed = observeReceivers({ maxInFlight: most }));

const TRY_MS = 15 * SECOND;
const hangs = answers('timed_out', TRY_MS);
const quick = answers('accepted');

describe('receivers without a success yet', () => {
  it('use at most half of the permits, and those of one organisation a quarter', () => {
    open(100);
    for (let host = 0; host < 100; host += 1) observed.submit(receiver(`a${host}`, 'a'));
    expect(observed.state.limits.inFlight).toBe(25);
    for (let host = 0; host < 100; host += 1) observed.submit(receiver(`b${host}`, 'b'));
    expect(observed.state.limits.inFlight).toBe(50);
    observed.submit(receiver('c', 'c'));
    expect([observed.state.limits.inFlight, observed.state.waiting]).toEqual([50, 151]);
    observed.pass();
  });

  it('take turns with the other receivers when all permits are in use', () => {
    open(4);
    const old = receiver('old', 'a');
    const known = observed.submitMany(100, old, { behaviour: answers('accepted', 100) });
    observed.pass(SECOND);
    expect(observed.state.limits.inFlight).toBe(4);
    const fresh = observed.submit(receiver('fresh', 'b'), { behaviour: quick });
    observed.pass(300);
    expect(fresh.ended).toBe(1);
    expect(known.some(({ begun }) => begun === 0)).toBe(true);
  });
});

describe('receivers that failed', () => {
  it('leave a quarter of these permits to new receivers', () => {
    open(16);
    const failing = ['a', 'b', 'c', 'd'].flatMap((org) => [
      receiver(`${org}1`, org),
      receiver(`${org}2`, org),
    ]);
    for (const one of failing) observed.submit(one, { behaviour: answers('server_error') });
    observed.pass(SECOND);
    const hanging = failing.map((one) => observed.submit(one, { behaviour: hangs }));
    expect(inFlight(hanging)).toHaveLength(6);
    const newcomers = ['e', 'f'].map((org) => observed.submit(receiver(org, org), { behaviour: quick }));
    observed.pass(SECOND);
    expect(newcomers.every(({ ended }) => ended === 1)).toBe(true);
  });

  it('get permits again while other receivers succeed', () => {
    open(16);
    const failing = Array.from({ length: 20 }, (_, at) => receiver(`h${at}`, `o${at}`));
    for (const one of failing) observed.submit(one, { behaviour: answers('server_error') });
    observed.pass(10 * SECOND);
    const again = failing.map((one) => observed.submit(one, { behaviour: answers('accepted', 900) }));
    observed.pass(5 * SECOND);
    expect(again.every(({ ended }) => ended === 1)).toBe(true);
  });
});

describe('organisations', () => {
  it('get permits in turn, however many notifications one of them has', () => {
    open(8);
    const flood = [1, 2, 3, 4].flatMap((host) => observed.submitMany(500, receiver(`a${host}`, 'a')));
    const few = observed.submitMany(4, receiver('b', 'b'));
    for (let round = 0; round < 4; round += 1) observed.endAll(observed.begun, 'accepted');
    expect(few.every(({ ended }) => ended === 1)).toBe(true);
    expect(flood.filter(({ begun }) => begun > 0).length).toBeLessThan(100);
  });
});

/** Sends one to each receiver at a time, for some seconds, and counts how many of each kind were accepted. */
const load = (
  kinds: Readonly<Record<string, { readonly receivers: number; readonly behaviour: Behaviour }>>,
  seconds: number,
): Record<string, { sent: number; taken: number }> => {
  const all = Object.entries(kinds).map(([kind, { receivers, behaviour }]) => ({
    kind,
    to: Array.from({ length: receivers }, (_, at) => receiver(`${kind}${at}`, `org${at % 20}`)),
    behaviour,
  }));
  const items = all.map(({ kind }) => ({ kind, sent: [] as ReturnType<ObservedReceivers['submit']>[] }));
  for (let tick = 0; tick < seconds * 2; tick += 1) {
    for (const [at, { to, behaviour }] of all.entries())
      for (const one of to) items[at]?.sent.push(observed.submit(one, { behaviour }));
    observed.pass(SECOND / 2);
  }
  observed.pass(50);
  return Object.fromEntries(
    items.map(({ kind, sent }) => [
      kind,
      { sent: sent.length, taken: sent.filter(({ ended }) => ended === 1).length },
    ]),
  );
};

describe('two thousand receivers of which a tenth never answers', () => {
  it('get all their notifications if they answer', () => {
    open(512);
    const { good } = load(
      { good: { receivers: 1_800, behaviour: quick }, dead: { receivers: 200, behaviour: hangs } },
      8,
    );
    expect(good?.taken).toBe(good?.sent);
  });

  it('continue when that tenth answered at first and stops all at once', () => {
    open(512);
    let hasStopped = false;
    const turning: Behaviour = () => (hasStopped ? hangs() : quick());
    const kinds = {
      good: { receivers: 900, behaviour: quick },
      turning: { receivers: 100, behaviour: turning },
    };
    const before = load(kinds, 4);
    expect(before.turning?.taken).toBe(before.turning?.sent);
    hasStopped = true;
    const { good } = load(kinds, 12);
    expect(good?.taken).toBe(good?.sent);
  });

  it('leave permits to others when they answer slowly', () => {
    open(64);
    const slowly: Sent = 'accepted';
    const kinds = {
      good: { receivers: 50, behaviour: quick },
      slow: { receivers: 100, behaviour: () => ({ afterMs: 10 * SECOND, sent: slowly }) },
    };
    const { good } = load(kinds, 25);
    expect(good?.taken).toBe(good?.sent);
  });
});

describe('all permits', () => {
  it('are free again when every attempt has ended', () => {
    open(64);
    load({ good: { receivers: 50, behaviour: quick }, dead: { receivers: 50, behaviour: hangs } }, 20);
    observed.pass(3_600 * SECOND);
    expect(observed.state.waiting).toBe(0);
    expect(observed.state.limits.inFlight).toBe(inFlight(observed.begun).length);
  });
});
