import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AfterTry } from '../../../src/delivering/final-delivery.ts';
import { nameOf } from '../../../src/core/receivers/receiver.ts';
import { pass, SECOND, useStoppedTime } from '../receivers/observed-dispatcher.ts';
import { aRun, finalOf, ORIGIN, watchedDesk, type WatchedDesk } from './observed-outboxes.ts';

useStoppedTime();

const DELIVERED: AfterTry = { sent: 'accepted', end: 'settled' };

let watched: WatchedDesk;
beforeEach(() => {
  watched = watchedDesk();
});
afterEach(async () => {
  for (const one of watched.finals) one.end(DELIVERED);
  for (const one of watched.intermediates) one.end('accepted');
  await watched.desk.close();
  watched.close();
});

const run = aRun();
const tell = (runs: number): void => watched.desk.tellIntermediate(run, ORIGIN, { runs });
const tellActivity = (activity: number): void => watched.desk.tellIntermediate(run, ORIGIN, { activity });
const trip = (): void => {
  const key = nameOf({ org_id: run.org_id, origin: ORIGIN });
  for (let failures = 0; failures < 5; failures += 1)
    watched.breakers.report(key, watched.breakers.ticket(key), 'failure');
};

describe('the intermediate notifications of a run', () => {
  it('begin at once, and then at most once a second, the latest winning', async () => {
    tell(1);
    expect(watched.intermediates).toHaveLength(1);
    tell(2);
    tellActivity(50);
    tell(3);
    watched.intermediates[0]?.end('accepted');
    await pass(999);
    expect(watched.intermediates).toHaveLength(1);
    expect(watched.told).toEqual([1]);
    await pass(1);
    expect(watched.intermediates.map(({ atLeast }) => atLeast)).toEqual([1, 3]);
    watched.intermediates[1]?.end('accepted');
    await pass();
    expect(watched.told).toEqual([1, 2, 3, 50]);
  });

  it('keep to the second also when the next is told after the first was answered', async () => {
    tell(1);
    watched.intermediates[0]?.end('accepted');
    await pass(500);
    tell(2);
    expect(watched.intermediates).toHaveLength(1);
    await pass(500);
    expect(watched.intermediates).toHaveLength(2);
  });

  it('are sent one after the other, however long one takes', async () => {
    tell(1);
    tell(2);
    await pass(10 * SECOND);
    expect(watched.intermediates).toHaveLength(1);
    watched.intermediates[0]?.end('timed_out');
    await pass();
    expect(watched.intermediates).toHaveLength(2);
  });

  it('are not sent again when they were refused', async () => {
    tell(1);
    watched.intermediates[0]?.end('client_error');
    await pass(60 * SECOND);
    expect(watched.intermediates).toHaveLength(1);
    expect(watched.told).toEqual([1]);
  });

  it.each(['no_dns', 'proxy_failed', 'interrupted'] as const)(
    'are offered again after %s, since nothing may follow for hours',
    async (sent) => {
      tell(7);
      watched.intermediates[0]?.end(sent);
      await pass(14 * SECOND);
      expect(watched.intermediates).toHaveLength(1);
      await pass(2 * SECOND);
      expect(watched.intermediates.map(({ atLeast }) => atLeast)).toEqual([7, 7]);
      expect(watched.told).toEqual([7]);
    },
  );

  it('are offered again when they were put off, without holding up the log meanwhile', async () => {
    trip();
    tell(7);
    await pass();
    expect(watched.intermediates).toEqual([]);
    expect(watched.told).toEqual([7]);
    tell(8);
    await pass(60 * SECOND);
    expect(watched.intermediates.map(({ atLeast }) => atLeast)).toEqual([8]);
  });

  it('leave nothing behind when there is nothing more to tell', async () => {
    tell(1);
    watched.intermediates[0]?.end('nothing');
    await pass(SECOND);
    expect(watched.desk.size).toBe(0);
  });
});

describe('the final notification of a run', () => {
  it('is begun at once, and its source settled once', async () => {
    watched.desk.tellFinal(finalOf(run, 9));
    expect(watched.finals).toHaveLength(1);
    expect(watched.desk.has(run.run_id)).toBe(true);
    watched.finals[0]?.end(DELIVERED);
    await pass();
    expect(watched.settled).toEqual([9]);
    expect(watched.desk.has(run.run_id)).toBe(false);
    expect(watched.desk.size).toBe(0);
  });

  it('overtakes the intermediate one that waits', async () => {
    watched.desk.tellIntermediate(aRun(), ORIGIN, { runs: 1 });
    // The only place of the receiver is taken.
    tell(3);
    watched.desk.tellFinal(finalOf(run, 4));
    expect(watched.told).toEqual([3]);
    watched.intermediates[0]?.end('accepted');
    await pass();
    expect(watched.finals.map(({ run: told }) => told)).toEqual([run.run_id]);
    expect(watched.intermediates).toHaveLength(1);
  });

  it('waits for the intermediate one that is in flight, and nothing follows it', async () => {
    tell(1);
    tell(2);
    watched.desk.tellFinal(finalOf(run, 3));
    tell(4);
    tellActivity(50);
    await pass(10 * SECOND);
    expect(watched.finals).toEqual([]);
    watched.intermediates[0]?.end('accepted');
    await pass();
    expect(watched.finals).toHaveLength(1);
    watched.finals[0]?.end(DELIVERED);
    await pass(60 * SECOND);
    expect(watched.intermediates).toHaveLength(1);
    expect(watched.told.toSorted((a, b) => a - b)).toEqual([1, 2, 4, 50]);
  });

  it('comes at once also within the second of an intermediate one', async () => {
    tell(1);
    watched.intermediates[0]?.end('accepted');
    await pass(10);
    watched.desk.tellFinal(finalOf(run, 2));
    expect(watched.finals).toHaveLength(1);
  });

  it('settles whatever stood for the same round', async () => {
    for (const sequence of [3, 4, 5]) watched.desk.tellFinal(finalOf(run, sequence));
    watched.finals[0]?.end(DELIVERED);
    await pass();
    expect(watched.finals).toHaveLength(1);
    expect(watched.settled).toEqual([3, 4, 5]);
  });

  it('is followed by the one of a later round', async () => {
    watched.desk.tellFinal(finalOf(run, 3));
    watched.desk.tellFinal(finalOf(run, 6, { round: 2 }));
    watched.desk.tellFinal(finalOf(run, 5));
    watched.finals[0]?.end(DELIVERED);
    await pass();
    expect(watched.settled).toEqual([3, 5]);
    watched.finals[1]?.end(DELIVERED);
    await pass();
    expect(watched.finals.map(({ delivery }) => delivery?.round)).toEqual([1, 2]);
    expect(watched.settled).toEqual([3, 5, 6]);
  });

  it('gives way to the next in hand when something newer stands for it', async () => {
    watched.desk.tellFinal(finalOf(run, 3));
    watched.desk.tellFinal(finalOf(run, 4, { kind: 'due' }));
    watched.finals[0]?.end({ sent: 'nothing', end: 'superseded' });
    await pass();
    expect(watched.settled).toEqual([3]);
    expect(watched.finals).toHaveLength(2);
  });

  it('stays in hand when it was interrupted, and is tried again', async () => {
    watched.desk.tellFinal(finalOf(run, 3));
    watched.finals[0]?.end({ sent: 'interrupted', end: 'interrupted' });
    await pass(10 * SECOND);
    expect(watched.settled).toEqual([]);
    expect(watched.desk.has(run.run_id)).toBe(true);
    await pass(5 * SECOND);
    expect(watched.finals).toHaveLength(2);
  });
});

describe('a final notification that is put off', () => {
  it('is set aside once, and the next waits until it is', async () => {
    trip();
    const aside = Promise.withResolvers<void>();
    watched.setAside = () => aside.promise;
    watched.desk.tellFinal(finalOf(run, 3));
    watched.desk.tellFinal(finalOf(run, 6, { round: 2 }));
    await pass();
    expect(watched.putOff).toEqual([3]);
    aside.resolve();
    await pass();
    expect(watched.putOff).toEqual([3, 6]);
    expect(watched.finals).toEqual([]);
    // Setting aside settles the source, which is not the desk's to do.
    expect(watched.settled).toEqual([]);
    expect(watched.desk.size).toBe(0);
  });
});

describe('a desk that closes', () => {
  it('waits for what is in flight and for what is being set aside, and takes back the rest', async () => {
    watched.desk.tellFinal(finalOf(aRun(), 1));
    watched.finals[0]?.end(DELIVERED);
    await pass();
    for (const sequence of [2, 3, 4]) watched.desk.tellFinal(finalOf(aRun(), sequence));
    expect(watched.finals).toHaveLength(3);
    const closing = watched.desk.close();
    let isClosed = false;
    void closing.then(() => {
      isClosed = true;
    });
    watched.finals[1]?.end(DELIVERED);
    await pass(10 * SECOND);
    expect(isClosed).toBe(false);
    watched.finals[2]?.end({ sent: 'interrupted', end: 'interrupted' });
    await closing;
    expect(watched.finals).toHaveLength(3);
    expect(watched.settled).toEqual([1, 2]);
    expect(watched.putOff).toEqual([]);
    expect(watched.dispatcher).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  it('leaves an intermediate one that was cut off to the next holder', async () => {
    tell(5);
    tell(6);
    const closing = watched.desk.close();
    watched.intermediates[0]?.end('interrupted');
    await closing;
    expect(watched.told).toEqual([]);
  });

  it('begins nothing that is told afterwards', async () => {
    await watched.desk.close();
    watched.desk.tellFinal(finalOf(run, 1));
    tell(2);
    await pass(60 * SECOND);
    expect([watched.finals, watched.intermediates]).toEqual([[], []]);
    watched.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
