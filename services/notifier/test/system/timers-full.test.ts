import { newUuid, orgId } from '@runledger/contracts/ids';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import { aReceiver, status, type Receiver } from '@runledger/testing/stand-ins/webhook-receiver';
import { describe, expect, it } from 'vitest';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { finalsOf, type NotifiedRun } from '../fixtures/expect-guarantees.ts';
import { startNotifier } from '../fixtures/notifier-process.ts';
import { storedDeliveries } from '../fixtures/stored-timers.ts';
import { openTestBedOnOwnBroker, type TestBed } from '../fixtures/test-bed.ts';

const LIMIT_MS = 240_000;
const RUNS = 600;
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

const countOf = async (
  bed: TestBed,
  notified: readonly NotifiedRun[],
  end: Webhook['status'],
): Promise<number> => {
  const states = await Promise.all(notified.map(({ key }) => bed.webhook(key)));
  return states.filter((state) => state?.status === end).length;
};

const expectAll = (
  bed: TestBed,
  notified: readonly NotifiedRun[],
  end: 'success' | 'failed',
  withinMs: number,
): Promise<void> =>
  expectSoon(
    `all to be ${end}`,
    async () => expect(await countOf(bed, notified, end)).toBe(notified.length),
    { withinMs },
  );

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
