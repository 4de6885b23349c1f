import { newUuid, orgId } from '@runledger/contracts/ids';
import { lastPerSubject } from '@runledger/event-log/follow/read-to-end';
import { IS_NIGHTLY } from '@runledger/testing/random/cases';
import { aReceiver, status, type Receiver } from '@runledger/testing/stand-ins/webhook-receiver';
import { describe, expect, it } from 'vitest';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { finalsOf, type NotifiedRun } from '../fixtures/expect-guarantees.ts';
import { startNotifier } from '../fixtures/notifier-process.ts';
import { storedDeliveries } from '../fixtures/stored-timers.ts';
import { openTestBedOnOwnBroker, type TestBed } from '../fixtures/test-bed.ts';

const LIMIT_MS = 240_000;
const RUNS = IS_NIGHTLY ? 600 : 160;
/** Room for some 100 deliveries. */
const TINY = { timersMaxBytes: 64 * 1024 };
const AT_ONCE = 32;

/** Runs of one organisation that end, with their webhook at the receiver. */
const succeedMany = async (bed: TestBed, receiver: Receiver, count: number): Promise<NotifiedRun[]> => {
  const org = orgId(newUuid());
  const notified: NotifiedRun[] = [];
  for (let begun = 0; begun < count; begun += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - begun) }, () =>
      bed.succeed(`${receiver.url}/hook`, org),
    );
    for (const key of await Promise.all(some)) notified.push({ key, receiver });
  }
  return notified;
};

/** An end stays, so one is awaited after the other: to read all of them again and again would keep the broker busy. */
const expectAll = async (
  bed: TestBed,
  notified: readonly NotifiedRun[],
  end: 'success' | 'failed',
  withinMs: number,
): Promise<void> => {
  const deadline = performance.now() + withinMs;
  for (const [at, { key }] of notified.entries()) {
    await expectSoon(
      `all ${notified.length} to be ${end}: number ${at + 1}`,
      async () => expect((await bed.webhook(key))?.status).toBe(end),
      { withinMs: deadline - performance.now() },
    );
  }
};

describe(
  'a TIMERS that is too small for the waiting deliveries of a dead receiver',
  { timeout: LIMIT_MS },
  () => {
    it('delays no other organisation, and everything is delivered once the receiver is back', async () => {
      await using bed = await openTestBedOnOwnBroker(TINY);
      await using dead = await aReceiver(status(503));
      await using healthy = await aReceiver();
      await using one = await startNotifier(bed);
      await using other = await startNotifier(bed);
      const waiting = await succeedMany(bed, dead, RUNS);
      const others = await succeedMany(bed, healthy, 50);
      await expectAll(bed, others, 'success', 10_000);
      await one.kill9();
      await using third = await startNotifier(bed);
      dead.answer = status(200);
      await expectAll(bed, waiting, 'success', 150_000);
      for (const notified of [...waiting, ...others]) expect(finalsOf(notified).length).toBeGreaterThan(0);
      await expectSoon('nothing to wait in TIMERS', async () =>
        expect(await storedDeliveries(bed.log)).toEqual({ wait: 0, due: 0, deferred: 0 }),
      );
      for (const notifier of [other, third])
        expect(await notifier.metric('runledger_notifier_reconciled_total')).toBe(0);
    });

    it('makes every one of them fail when its time is over, and forgets none', async () => {
      await using bed = await openTestBedOnOwnBroker(TINY);
      await using dead = await aReceiver(status(503));
      await using notifier = await startNotifier(bed, { RUNLEDGER_WEBHOOK_GIVE_UP_S: '20' });
      const waiting = await succeedMany(bed, dead, RUNS);
      await expectAll(bed, waiting, 'failed', 120_000);
      await expectSoon('nothing to be left', async () =>
        expect(await notifier.metric('runledger_notifier_left_in_log')).toBe(0),
      );
    });
  },
);

describe('a notifier whose TIMERS lost messages', { timeout: LIMIT_MS }, () => {
  const breaker = { firstOpenMs: 3_000 };

  it('finds and delivers everything from the log after a purge', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using dead = await aReceiver(status(503));
    await using running = await bed.start({ breaker, reconcileEveryMs: 300 });
    const waiting = await succeedMany(bed, dead, 60);
    await expectSoon('them to be deferred', async () =>
      expect((await storedDeliveries(bed.log)).deferred).toBeGreaterThan(30),
    );
    await bed.log.jsm.streams.purge('TIMERS');
    dead.answer = status(200);
    await expectAll(bed, waiting, 'success', 60_000);
    expect(await running.metric('runledger_notifier_reconciled_total')).toBeGreaterThan(0);
  });

  it('finds and delivers everything from the log after an older copy was restored', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using dead = await aReceiver(status(503));
    const deferSome = async (count: number): Promise<NotifiedRun[]> => {
      await using running = await bed.start({ breaker, reconcileEveryMs: 300 });
      const some = await succeedMany(bed, dead, count);
      expect(running.notifier.state()).toEqual({ ok: true });
      await expectSoon('them to be deferred', async () => {
        const { deferred, wait } = await storedDeliveries(bed.log);
        expect(deferred + wait).toBeGreaterThanOrEqual(count);
      });
      return some;
    };
    const before = await deferSome(30);
    const copy = await copyOfTimers(bed);
    const after = await deferSome(30);
    await bed.log.jsm.streams.purge('TIMERS');
    for (const { subject, data } of copy) await bed.log.js.publish(subject, data);
    dead.answer = status(200);
    await using running = await bed.start({ breaker, reconcileEveryMs: 300 });
    await expectAll(bed, [...before, ...after], 'success', 60_000);
    expect(running.notifier.state()).toEqual({ ok: true });
  });
});

/** Without schedules: a delivery that waits would never be due again. */
const copyOfTimers = async ({ log }: TestBed): Promise<readonly { subject: string; data: Uint8Array }[]> => {
  const messages = await lastPerSubject(log, 'TIMERS', 'timers.>', 10_000);
  return messages.flatMap(({ subject, data }) => (subject.endsWith('.wait') ? [] : [{ subject, data }]));
};
