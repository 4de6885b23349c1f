import { timerSubject, type PendingDelivery } from '@runledger/contracts/deliveries/timers';
import { runEventSubject, type RunKey } from '@runledger/contracts/events/subjects';
import { deferDelivery, scheduleDelivery, storeOpening } from '../../src/timers.ts';
import { assigned, OTHER_EXECUTOR, queued, started, succeeded } from '@runledger/testing/run-events';
import { redeliveryRequested, webhookGivenUp } from '@runledger/testing/webhook-events';
import { describe, expect, it } from 'vitest';
import { aReceiver, status, type Receiver } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBed, type TestBed } from '../fixtures/test-bed.ts';
import { expectTidy, succeedOften } from '../fixtures/breakers.ts';
import { attemptsOf } from '../fixtures/attempts-of.ts';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { storedDeliveries, storedTimers } from '../fixtures/stored-timers.ts';

const DAY_MS = 86_400_000;

const expectEnd = (bed: TestBed, key: RunKey, end: object): Promise<void> =>
  expectSoon('its outcome', async () => expect(await bed.webhook(key)).toMatchObject(end));

const expectNothingWaits = (bed: TestBed): Promise<void> =>
  expectSoon('nothing to wait', async () => expect(await storedTimers(bed.log)).toEqual([]));

/** As after this many attempts, the next of which is due. */
const tried = (key: RunKey, { url }: Receiver, tries: number): PendingDelivery => ({
  version: 1,
  ...key,
  origin: url,
  round: 1,
  tries,
  due_at: new Date().toISOString(),
  expires_at: new Date(Date.now() + DAY_MS).toISOString(),
  sequence: 7,
});

/** After one attempt, or none, and its time is over. */
const expired = (key: RunKey, receiver: Receiver, tries = 1): PendingDelivery => ({
  ...tried(key, receiver, tries),
  expires_at: new Date(Date.now() - 1_000).toISOString(),
});

describe('a delivery', () => {
  it.concurrent.each([
    [500, 'server_error'],
    [404, 'client_error'],
  ])('is given up when its thirteenth attempt is answered with %i', async (code, last_reason) => {
    await using bed = await openTestBed();
    await using receiver = await aReceiver(status(code));
    const key = await bed.succeed(`${receiver.url}/hook?token=s3cret`);
    await scheduleDelivery(bed.log, tried(key, receiver, 12), new Date());
    await using running = await bed.start();
    await expectEnd(bed, key, {
      status: 'failed',
      reason: 'tries_used_up',
      tries: 13,
      last_reason,
      message: expect.stringMatching(new RegExp(`answered ${code}`)),
    });
    expect(JSON.stringify(await bed.webhook(key))).not.toContain('s3cret');
    expect((await attemptsOf(bed, key)).attempts).toMatchObject([{ try: 13, round: 1, reason: last_reason }]);
    expect(receiver.of(key.run_id)).toHaveLength(1);
    await expectNothingWaits(bed);
    expect(await running.metric('runledger_notifier_deliveries_total', { end: 'tries_used_up' })).toBe(1);
  });

  it.concurrent('is given up by 410, and never attempted again', async () => {
    await using bed = await openTestBed();
    await using receiver = await aReceiver(status(410));
    await using running = await bed.start();
    const key = await bed.succeed(`${receiver.url}/hook`);
    await expectEnd(bed, key, { status: 'failed', reason: 'gone', tries: 1, last_reason: 'gone' });
    await expectNothingWaits(bed);
    expect(receiver.of(key.run_id)).toHaveLength(1);
    expect(await running.metric('runledger_notifier_open_breakers')).toBe(0);
  });

  it.concurrent('is given up when its time is over: nothing more is sent', async () => {
    await using bed = await openTestBed();
    await using receiver = await aReceiver(status(500));
    const key = await bed.succeed(`${receiver.url}/hook`);
    await scheduleDelivery(bed.log, expired(key, receiver), new Date());
    await using running = await bed.start();
    await expectEnd(bed, key, { status: 'failed', reason: 'expired', tries: 1 });
    expect(receiver.of(key.run_id)).toEqual([]);
    await expectNothingWaits(bed);
    expect(await running.metric('runledger_notifier_deliveries_total', { end: 'expired' })).toBe(1);
  });

  it.concurrent('is given up behind an open breaker too, when its time is over', async () => {
    await using bed = await openTestBed();
    await using receiver = await aReceiver(status(500));
    const keys = await succeedOften(bed, `${receiver.url}/hook`, 5);
    const until = new Date(Date.now() + DAY_MS).toISOString();
    await storeOpening(bed.log, { version: 1, origin: receiver.url, org_id: bed.org, opens: 6, until });
    for (const key of keys) await deferDelivery(bed.log, expired(key, receiver));
    // Expired deliveries are searched for ten times in this time.
    await using running = await bed.start({ giveUpAfterMs: 10_000, reconcileEveryMs: 300 });
    for (const key of keys) await expectEnd(bed, key, { status: 'failed', reason: 'expired', tries: 1 });
    expect(receiver.arrived).toEqual([]);
    await expectSoon('nothing to be deferred', async () =>
      expect(await storedDeliveries(bed.log)).toEqual({ wait: 0, due: 0, deferred: 0 }),
    );
    expect(await running.metric('runledger_notifier_deliveries_total', { end: 'expired' })).toBe(5);
  });
});

describe('a delivery whose time was over before anybody attempted it', () => {
  /** Within the age of the log. */
  const later = (): Date => new Date(Date.now() + 6.5 * DAY_MS);

  it.concurrent('is attempted by the first notifier that runs again', async () => {
    await using bed = await openTestBed();
    await using receiver = await aReceiver();
    const key = await bed.succeed(`${receiver.url}/hook`);
    await using open = new AsyncDisposableStack();
    open.use(await bed.start({ now: later }));
    await expectEnd(bed, key, { status: 'success', tries: 1 });
  });

  it.concurrent('is attempted in each round: somebody has asked for it', async () => {
    await using bed = await openTestBed();
    await using receiver = await aReceiver();
    const key = await bed.succeed(`${receiver.url}/hook`);
    await bed.happenTo(key, webhookGivenUp(key, 1, { reason: 'expired' }), redeliveryRequested(key));
    await using open = new AsyncDisposableStack();
    open.use(await bed.start({ now: later }));
    await expectEnd(bed, key, { status: 'success', round: 2, tries: 1 });
  });

  /** Ten searches for expired deliveries pass in this time, and a second opening is not over in it. */
  const searching = { giveUpAfterMs: 10_000, reconcileEveryMs: 300, breaker: { firstOpenMs: 60_000 } };
  const deferBehindBreaker = async (bed: TestBed, receiver: Receiver): Promise<RunKey[]> => {
    const keys = await succeedOften(bed, `${receiver.url}/hook`, 5);
    const until = new Date(Date.now() + 4_000).toISOString();
    await storeOpening(bed.log, { version: 1, origin: receiver.url, org_id: bed.org, opens: 1, until });
    for (const key of keys) await deferDelivery(bed.log, expired(key, receiver, 0));
    return keys;
  };

  it.concurrent('is attempted when the breaker lets it through, by a receiver that is back', async () => {
    await using bed = await openTestBed();
    await using receiver = await aReceiver();
    const keys = await deferBehindBreaker(bed, receiver);
    await using open = new AsyncDisposableStack();
    open.use(await bed.start(searching));
    for (const key of keys) await expectEnd(bed, key, { status: 'success', tries: 1 });
    await expectNothingWaits(bed);
  });

  it.concurrent('is given up when another one fails at its receiver', async () => {
    await using bed = await openTestBed();
    await using receiver = await aReceiver(status(500));
    const keys = await deferBehindBreaker(bed, receiver);
    await using open = new AsyncDisposableStack();
    open.use(await bed.start(searching));
    for (const key of keys) await expectEnd(bed, key, { status: 'failed', reason: 'expired' });
    expect(receiver.arrived).toHaveLength(1);
  });
});

describe('a delivery that waits for a time of which the broker never says that it has come', () => {
  it.concurrent('goes on a minute later', async () => {
    await using bed = await openTestBed();
    await using receiver = await aReceiver();
    const key = await bed.succeed(`${receiver.url}/hook`);
    const due_at = new Date(Date.now() - 61_000).toISOString();
    const delivery = { ...tried(key, receiver, 3), due_at };
    // Without a schedule.
    await bed.log.js.publish(timerSubject(delivery, 'wait'), JSON.stringify(delivery));
    await using open = new AsyncDisposableStack();
    open.use(await bed.start({ reconcileEveryMs: 300 }));
    await expectEnd(bed, key, { status: 'success', tries: 4 });
    await expectNothingWaits(bed);
  });
});

describe('a forged fact', () => {
  const forge = async (bed: TestBed, event: Parameters<typeof runEventSubject>[0]): Promise<void> => {
    await bed.log.js.publish(runEventSubject(event), JSON.stringify(event));
  };

  it.concurrent('ends no run: nothing is sent before the genuine end', async () => {
    await using bed = await openTestBed();
    await using running = await bed.start({ reconcileEveryMs: 300 });
    await using receiver = await aReceiver();
    const key = await bed.queue(`${receiver.url}/hook`);
    await bed.happen(key, assigned(key), started(key));
    await forge(bed, succeeded(key));
    await forge(bed, { ...succeeded(key), executor_id: OTHER_EXECUTOR });
    await bed.log.js.publish(runEventSubject(succeeded(key)), 'garbage');
    const other = await bed.succeed(`${receiver.url}/hook`);
    await expectEnd(bed, other, { status: 'success' });
    expect(receiver.of(key.run_id)).toEqual([]);
    expect(await bed.webhook(key)).toBeUndefined();

    await bed.happen(key, succeeded(key));
    await expectEnd(bed, key, { status: 'success', tries: 1 });
    expect(receiver.of(key.run_id)).toHaveLength(1);
    await expectTidy(bed, running);
  });

  it.concurrent('cannot remove or change a callback URL', async () => {
    await using bed = await openTestBed();
    await using running = await bed.start({ reconcileEveryMs: 300 });
    await using receiver = await aReceiver();
    await using elsewhere = await aReceiver();
    const keys = [await bed.queue(`${receiver.url}/hook`), await bed.queue(`${receiver.url}/hook`)];
    const [off, redirected] = keys;
    if (!off || !redirected) throw new Error('two runs were queued');
    await forge(bed, queued(off, { webhook: null }));
    await forge(bed, queued(redirected, { webhook: `${elsewhere.url}/hook` }));
    for (const key of keys) await bed.happen(key, assigned(key), started(key), succeeded(key));
    for (const key of keys) await expectEnd(bed, key, { status: 'success', tries: 1 });
    for (const key of keys) expect(receiver.of(key.run_id)).toHaveLength(1);
    expect(elsewhere.arrived).toEqual([]);
    await expectTidy(bed, running);
  });
});
