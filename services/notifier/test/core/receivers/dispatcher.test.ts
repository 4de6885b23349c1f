import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDispatcher, type Dispatcher } from '../../../src/dispatch/dispatcher.ts';
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

const A = receiver('a');
const B = receiver('b');

describe('a receiver', () => {
  it('gets one at first, one more with every success, and at most 32', async () => {
    const items = watched.submitMany(600, A);
    const limits: number[] = [];
    for (let round = 0; round < 8; round += 1) {
      limits.push(inFlight(items).length);
      await endAll(items, 'accepted');
    }
    expect(limits).toEqual([1, 2, 4, 8, 16, 32, 32, 32]);
  });

  it('gets one at a time after a failure that is its own', async () => {
    const items = watched.submitMany(50, A);
    await endAll(items, 'accepted');
    await endAll(items, 'accepted');
    const [failing, ...others] = inFlight(items);
    expect(others).toHaveLength(3);
    failing?.end('server_error');
    await pass();
    expect(inFlight(items)).toEqual(others);
    await endAll(items, 'throttled');
    expect(inFlight(items)).toHaveLength(1);
    await endAll(items, 'accepted');
    expect(inFlight(items)).toHaveLength(2);
  });

  it.each(['interrupted', 'no_dns', 'forbidden', 'nothing'] as const)(
    'is neither trusted more nor less after %s',
    async (sent) => {
      const items = watched.submitMany(20, A);
      await endAll(items, 'accepted');
      await endAll(items, sent);
      expect(inFlight(items)).toHaveLength(2);
      expect(watched.breakers.instances).toBe(0);
    },
  );

  it('gets final notifications before the others, each kind in its order', async () => {
    const first = watched.submitMany(1, A);
    const others = [watched.submit(A, { final: false }), watched.submit(A, { final: false })];
    const finals = watched.submitMany(2, A);
    for (let round = 0; round < 6; round += 1) await endAll(watched.begun, 'nothing');
    expect(watched.begun).toEqual([...first, ...finals, ...others]);
  });

  it('that hangs takes its own places only', async () => {
    const hanging = watched.submitMany(50, A);
    const answered = watched.submitMany(50, B, { behaviour: answers('accepted') });
    await pass(SECOND);
    expect(inFlight(hanging)).toHaveLength(1);
    expect(answered.filter(({ ended }) => ended === 1)).toHaveLength(50);
  });
});

describe('what waits', () => {
  it('is put off after more than five seconds, and begun later', async () => {
    const items = watched.submitMany(5, A);
    await pass(5 * SECOND);
    expect(items.map(({ putOffs }) => putOffs)).toEqual([0, 0, 0, 0, 0]);
    await pass(SECOND);
    expect(items.map(({ putOffs }) => putOffs)).toEqual([0, 1, 1, 1, 1]);
    expect(watched.dispatcher.waiting).toBe(0);
    for (let round = 0; round < 4; round += 1) {
      await endAll(items, 'accepted');
      await pass(SECOND);
    }
    expect(items.map(({ ended }) => ended)).toEqual([1, 1, 1, 1, 1]);
  });

  it('is taken back as long as it was not begun, and is never sent then', async () => {
    const first = watched.submit(A);
    const second = watched.submit(A);
    expect(watched.dispatcher.withdraw(first)).toBe(false);
    expect(watched.dispatcher.withdraw(second)).toBe(true);
    expect(watched.dispatcher.withdraw(second)).toBe(false);
    expect(watched.dispatcher.waiting).toBe(0);
    await endAll([first], 'accepted');
    await pass(10 * SECOND);
    expect([second.begun, second.putOffs]).toEqual([0, 0]);
  });

  it('is bounded for one receiver, and what is beyond it is put off at once', async () => {
    const items = watched.submitMany(2_010, A);
    expect(watched.dispatcher.waiting).toBe(2_000);
    expect(items.filter(({ putOffs }) => putOffs === 1)).toEqual(items.slice(2_001));
    const other = watched.submit(B);
    expect(other.begun).toBe(1);
    await pass();
  });

  it('is bounded for all receivers together', async () => {
    for (let host = 0; host < 26; host += 1) watched.submitMany(2_000, receiver(`h${host}`));
    expect(watched.dispatcher.waiting).toBe(50_000);
    await pass(6 * SECOND);
    expect(watched.dispatcher.waiting).toBe(0);
  });

  it('is put off when nothing is begun any more', async () => {
    watched.dispatcher.close();
    const item = watched.submit(A);
    expect([item.begun, item.putOffs]).toEqual([0, 1]);
    watched.breakers.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});

/** A dispatcher whose log is asked, and does as it is told. */
const asking = async (
  answer: (asked: number) => boolean | Promise<boolean>,
  what: (dispatcher: Dispatcher) => Promise<void>,
): Promise<number> => {
  let asked = 0;
  const { breakers } = watched;
  const refill = async (): Promise<boolean> => {
    asked += 1;
    return answer(asked);
  };
  const dispatcher = openDispatcher({ breakers, most: 10, clock: () => Date.now(), refill });
  await what(dispatcher);
  dispatcher.close();
  return asked;
};

describe('what is parked', () => {
  it('is fetched as its receiver takes it, without a pause between', async () => {
    const items = watched.submitMany(3_000, A, { behaviour: answers('accepted', 1) });
    expect(watched.parked.get(nameOf(A))).toHaveLength(999);
    await pass(3 * SECOND);
    expect(items.every(({ ended }) => ended === 1)).toBe(true);
    expect(watched.dispatcher).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  it('is asked for once a second while all of it is in hand', async () => {
    const isInHand = (asked: number): boolean => asked < 10;
    const once = (ms: number): Promise<number> =>
      asking(isInHand, async (dispatcher) => {
        dispatcher.expectParked(A);
        await pass(ms);
      });
    expect(await once(3_500)).toBe(4);
    expect(await once(60 * SECOND)).toBe(10);
  });

  it('stays expected when it was put off while the log was asked', async () => {
    const first = Promise.withResolvers<boolean>();
    const asked = await asking(
      (times) => (times === 1 ? first.promise : false),
      async (dispatcher) => {
        dispatcher.expectParked(A);
        dispatcher.expectParked(A);
        first.resolve(false);
        await pass(2 * SECOND);
      },
    );
    expect(asked).toBe(2);
  });

  it('is asked for at every receiver, also when nothing is there', async () => {
    const asked = await asking(
      () => false,
      async (dispatcher) => {
        for (let host = 0; host < 300; host += 1) dispatcher.expectParked(receiver(`h${host}`));
        await pass(6 * SECOND);
      },
    );
    expect(asked).toBe(300);
  });

  it('is asked for at no more than fifty unknown receivers a second', async () => {
    const asked = await asking(
      () => false,
      async (dispatcher) => {
        for (let host = 0; host < 1_000; host += 1) dispatcher.expectParked(receiver(`h${host}`));
        await pass(3 * SECOND);
      },
    );
    expect(asked).toBe(200);
  });
});
