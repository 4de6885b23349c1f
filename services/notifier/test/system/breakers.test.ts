import { newUuid, orgId } from '@runledger/contracts/ids';
import { readDeliveries } from '@runledger/event-log/streams/delivery-attempts';
import { describe, expect, it } from 'vitest';
import { aReceiver, status } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBedOnOwnBroker } from '../fixtures/test-bed.ts';
import {
  countOpen,
  expectAllDelivered,
  expectDeferred,
  expectTidy,
  freePort,
  openBreaker,
  succeedOften,
  takingItsTime,
} from '../fixtures/breakers.ts';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { openingsAt, storedDeliveries } from '../fixtures/stored-timers.ts';

/** Longer than what a test does while it is open. */
const breaker = { firstOpenMs: 4_000 };
/** An opening, a retry, and a machine that has more to do. */
const timeout = 90_000;
/** For those that only see that it opens. */
const longBreaker = { firstOpenMs: 60_000 };

describe('a receiver that fails five times', { timeout }, () => {
  it.concurrent('gets no attempts, and what follows is deferred without a timer', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using running = await bed.start({ breaker: longBreaker });
    await using receiver = await aReceiver(status(500));
    const failed = await openBreaker(bed, running, `${receiver.url}/hook`);
    const arrived = receiver.arrived.length;
    expect(arrived).toBe(5);

    const deferred = await succeedOften(bed, `${receiver.url}/hook`, 10);
    await expectDeferred(bed, deferred);
    // Attempts that are due now are deferred too, and none is lost. A timer that was due is removed only then.
    await expectSoon('only deferred deliveries', async () =>
      expect(await storedDeliveries(bed.log)).toEqual({ wait: 0, due: 0, deferred: 15 }),
    );
    expect(await running.metric('runledger_notifier_deferred')).toBe(15);
    expect(await running.metric('runledger_notifier_timers_bytes')).toBeGreaterThan(0);
    expect(await running.metric('runledger_notifier_timers_limit_bytes')).toBeGreaterThan(0);
    for (const key of failed) {
      await expectSoon('its deferral', async () =>
        expect((await readDeliveries(bed.log, key)).state).toMatchObject({ state: 'deferred', tries: 1 }),
      );
    }
    expect(receiver.arrived).toHaveLength(arrived);
    expect(await openingsAt(bed.log, receiver.url)).toMatchObject([{ org_id: bed.org, opens: 1 }]);
  });

  it.concurrent('is probed with one notification after its time, then gets the rest, each once', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using running = await bed.start({ breaker, reconcileEveryMs: 500 });
    await using receiver = await aReceiver(status(500));
    const failed = await openBreaker(bed, running, `${receiver.url}/hook`);
    const { inFlight } = takingItsTime(receiver);
    const deferred = await succeedOften(bed, `${receiver.url}/hook`, 30);
    await expectAllDelivered(bed, [...failed, ...deferred]);

    const [, , , , fifth, probe, ...rest] = receiver.arrived;
    // Its time begins behind the fifth failure, which may have been seen a little later.
    expect((probe?.at ?? 0) - (fifth?.at ?? 0)).toBeGreaterThan(breaker.firstOpenMs - 1_000);
    expect(rest).toHaveLength(34);
    for (const key of deferred) expect(receiver.of(key.run_id)).toHaveLength(1);
    for (const key of failed) expect(receiver.of(key.run_id)).toHaveLength(2);
    // One, then two, four, and eight at once.
    expect(inFlight[0]).toBe(1);
    expect(Math.max(...inFlight.slice(1, 3))).toBeLessThanOrEqual(2);
    expect(Math.max(...inFlight.slice(3, 7))).toBeLessThanOrEqual(4);
    expect(Math.max(...inFlight.slice(7, 15))).toBeLessThanOrEqual(8);
    await expectTidy(bed, running);
  });

  it.concurrent('with 404 still gets notifications', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using running = await bed.start({ breaker: longBreaker });
    await using receiver = await aReceiver(status(404));
    const keys = await succeedOften(bed, `${receiver.url}/hook`, 12);
    await expectSoon('each to be tried', () => {
      for (const key of keys) expect(receiver.of(key.run_id).length).toBeGreaterThan(0);
    });
    expect(await countOpen(running)).toBe(0);
    expect(await storedDeliveries(bed.log)).toMatchObject({ deferred: 0 });
  });
});

describe('two organisations at one origin', { timeout }, () => {
  const other = orgId(newUuid());

  it.concurrent('both get no attempts while it cannot be reached, and everything once it can', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using running = await bed.start({ breaker });
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const failed = await openBreaker(bed, running, `${url}/hook`);
    const deferred = await succeedOften(bed, `${url}/other`, 3, other);
    await expectDeferred(bed, deferred);
    expect(await openingsAt(bed.log, url)).toContainEqual(
      expect.objectContaining({ org_id: null, opens: 1 }),
    );
    await using receiver = await aReceiver(status(200), port);
    await expectAllDelivered(bed, [...failed, ...deferred]);
    for (const key of [...failed, ...deferred]) expect(receiver.of(key.run_id)).toHaveLength(1);
    await expectTidy(bed, running);
  });
});

describe('an open breaker', { timeout }, () => {
  it.concurrent('stays open when the notifier is stopped and started, and deferred deliveries are sent after its time', async () => {
    const openFor = { firstOpenMs: 8_000 };
    await using bed = await openTestBedOnOwnBroker();
    await using receiver = await aReceiver(status(500));
    const [failed, deferred] = await (async () => {
      await using running = await bed.start({ breaker: openFor });
      const those = await openBreaker(bed, running, `${receiver.url}/hook`);
      const these = await succeedOften(bed, `${receiver.url}/hook`, 5);
      await expectDeferred(bed, these);
      await expectSoon('the opening to be kept', async () =>
        expect(await openingsAt(bed.log, receiver.url)).toHaveLength(1),
      );
      return [those, these];
    })();
    const [opening] = await openingsAt(bed.log, receiver.url);
    receiver.answer = status(200);
    const before = receiver.arrived.length;

    await using running = await bed.start({ breaker: openFor });
    await expectSoon('the breaker to be open again', async () => expect(await countOpen(running)).toBe(1));
    const late = await bed.succeed(`${receiver.url}/hook`);
    await expectSoon('the first to arrive', () => expect(receiver.arrived.length).toBeGreaterThan(before));
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(opening?.until ?? ''));
    await expectAllDelivered(bed, [...failed, ...deferred, late]);
    for (const key of [...deferred, late]) expect(receiver.of(key.run_id)).toHaveLength(1);
    await expectTidy(bed, running);
  });
});
