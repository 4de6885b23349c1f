import { afterEach, describe, expect, it } from 'vitest';
import type { Sent } from '../../../src/core/receivers/receiver.ts';
import {
  answers,
  endAll,
  inFlight,
  pass,
  receiver,
  SECOND,
  useStoppedTime,
  watchedDispatcher,
  type Behaviour,
  type Watched,
} from './observed-dispatcher.ts';

useStoppedTime();

let watched: Watched;
const open = (most: number): Watched => (watched = watchedDispatcher({ most }));
afterEach(() => watched.close());

const TRY_MS = 15 * SECOND;
const hangs = answers('timed_out', TRY_MS);
const quick = answers('accepted');

describe('receivers that have not answered yet', () => {
  it('take half of the places together, and those of one organisation a quarter', async () => {
    open(100);
    for (let host = 0; host < 100; host += 1) watched.submit(receiver(`a${host}`, 'a'));
    expect(watched.dispatcher.inFlight).toBe(25);
    for (let host = 0; host < 100; host += 1) watched.submit(receiver(`b${host}`, 'b'));
    expect(watched.dispatcher.inFlight).toBe(50);
    watched.submit(receiver('c', 'c'));
    expect(watched.dispatcher).toMatchObject({ inFlight: 50, waiting: 151 });
    await pass();
  });

  it('take turns with those that have when all places are in use', async () => {
    open(4);
    const old = receiver('old', 'a');
    const known = watched.submitMany(100, old, { behaviour: answers('accepted', 100) });
    await pass(SECOND);
    expect(watched.dispatcher.inFlight).toBe(4);
    const fresh = watched.submit(receiver('fresh', 'b'), { behaviour: quick });
    await pass(300);
    expect(fresh.ended).toBe(1);
    expect(known.some(({ begun }) => begun === 0)).toBe(true);
  });
});

describe('receivers that failed', () => {
  it('leave a quarter of these places to newcomers', async () => {
    open(16);
    const failing = ['a', 'b', 'c', 'd'].flatMap((org) => [
      receiver(`${org}1`, org),
      receiver(`${org}2`, org),
    ]);
    for (const one of failing) watched.submit(one, { behaviour: answers('server_error') });
    await pass(SECOND);
    const hanging = failing.map((one) => watched.submit(one, { behaviour: hangs }));
    expect(inFlight(hanging)).toHaveLength(6);
    const newcomers = ['e', 'f'].map((org) => watched.submit(receiver(org, org), { behaviour: quick }));
    await pass(SECOND);
    expect(newcomers.every(({ ended }) => ended === 1)).toBe(true);
  });

  it('get their places again as others answer', async () => {
    open(16);
    const failing = Array.from({ length: 20 }, (_, at) => receiver(`h${at}`, `o${at}`));
    for (const one of failing) watched.submit(one, { behaviour: answers('server_error') });
    await pass(10 * SECOND);
    const again = failing.map((one) => watched.submit(one, { behaviour: answers('accepted', 900) }));
    await pass(5 * SECOND);
    expect(again.every(({ ended }) => ended === 1)).toBe(true);
  });
});

describe('organisations', () => {
  it('get places in turn, however much one of them has to send', async () => {
    open(8);
    const flood = [1, 2, 3, 4].flatMap((host) => watched.submitMany(500, receiver(`a${host}`, 'a')));
    const few = watched.submitMany(4, receiver('b', 'b'));
    for (let round = 0; round < 4; round += 1) await endAll(watched.begun, 'accepted');
    expect(few.every(({ ended }) => ended === 1)).toBe(true);
    expect(flood.filter(({ begun }) => begun > 0).length).toBeLessThan(100);
  });
});

/** Sends one to each receiver at a time, for so long, and tells how many of each kind were taken. */
const load = async (
  kinds: Readonly<Record<string, { readonly receivers: number; readonly behaviour: Behaviour }>>,
  seconds: number,
): Promise<Record<string, { sent: number; taken: number }>> => {
  const all = Object.entries(kinds).map(([kind, { receivers, behaviour }]) => ({
    kind,
    to: Array.from({ length: receivers }, (_, at) => receiver(`${kind}${at}`, `org${at % 20}`)),
    behaviour,
  }));
  const items = all.map(({ kind }) => ({ kind, sent: [] as ReturnType<Watched['submit']>[] }));
  for (let tick = 0; tick < seconds * 2; tick += 1) {
    for (const [at, { to, behaviour }] of all.entries())
      for (const one of to) items[at]?.sent.push(watched.submit(one, { behaviour }));
    await pass(SECOND / 2);
  }
  await pass(50);
  return Object.fromEntries(
    items.map(({ kind, sent }) => [
      kind,
      { sent: sent.length, taken: sent.filter(({ ended }) => ended === 1).length },
    ]),
  );
};

describe('two thousand receivers of which a tenth never answers', () => {
  it('get what is theirs if they answer', async () => {
    open(512);
    const { good } = await load(
      { good: { receivers: 1_800, behaviour: quick }, dead: { receivers: 200, behaviour: hangs } },
      8,
    );
    expect(good?.taken).toBe(good?.sent);
  });

  it('go on when the tenth had answered and falls silent all at once', async () => {
    open(512);
    let fallsSilent = false;
    const turning: Behaviour = () => (fallsSilent ? hangs() : quick());
    const kinds = {
      good: { receivers: 900, behaviour: quick },
      turning: { receivers: 100, behaviour: turning },
    };
    const before = await load(kinds, 4);
    expect(before.turning?.taken).toBe(before.turning?.sent);
    fallsSilent = true;
    const { good } = await load(kinds, 12);
    expect(good?.taken).toBe(good?.sent);
  });

  it('leave room when they answer, but slowly', async () => {
    open(64);
    const slowly: Sent = 'accepted';
    const kinds = {
      good: { receivers: 50, behaviour: quick },
      slow: { receivers: 100, behaviour: () => ({ afterMs: 10 * SECOND, sent: slowly }) },
    };
    const { good } = await load(kinds, 25);
    expect(good?.taken).toBe(good?.sent);
  });
});

describe('the places that are taken', () => {
  it('are all free again when everything has ended', async () => {
    open(64);
    await load({ good: { receivers: 50, behaviour: quick }, dead: { receivers: 50, behaviour: hangs } }, 20);
    await pass(3_600 * SECOND);
    expect(watched.dispatcher.waiting).toBe(0);
    expect(watched.dispatcher.inFlight).toBe(inFlight(watched.begun).length);
  });
});
