import type { RunKey } from '@runledger/contracts/events/subjects';
import { readDeliveries } from '@runledger/event-log/streams/delivery-attempts';
import { findPending, storeOpening } from '../../src/timers.ts';
import { redeliveryRequested, webhookGivenUp } from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aReceiver, status, type Receiver } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBedOnOwnBroker, type RunningNotifier, type TestBed } from '../fixtures/test-bed.ts';
import { countOpen, expectTidy, openBreaker } from '../fixtures/breakers.ts';
import { retryOf, attemptsOf } from '../fixtures/attempts-of.ts';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { storedTimers } from '../fixtures/stored-timers.ts';

let bed: TestBed;
let running: RunningNotifier;
beforeAll(async () => {
  bed = await openTestBedOnOwnBroker();
  running = await bed.start();
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

const expectEnd = (of: TestBed, key: RunKey, end: object): Promise<void> =>
  expectSoon('its outcome', async () => expect(await of.webhook(key)).toMatchObject(end));

const idsOf = (receiver: Receiver, key: RunKey): Set<string | undefined> =>
  new Set(receiver.of(key.run_id).map(({ headers }) => headers['webhook-id']));

const timersOf = async (of: TestBed, key: RunKey): Promise<string[]> =>
  (await storedTimers(of.log)).filter((subject) => subject.includes(key.run_id));

describe('a redelivery', () => {
  it('of an accepted notification is sent once more, as the same message', async () => {
    await using receiver = await aReceiver();
    const key = await bed.succeed(`${receiver.url}/hook`);
    await expectEnd(bed, key, { status: 'success', round: 1 });
    await bed.happenTo(key, redeliveryRequested(key));
    await expectEnd(bed, key, { status: 'success', round: 2, tries: 1 });
    const [first, second, ...more] = receiver.of(key.run_id);
    expect(more).toEqual([]);
    expect(second?.payload).toEqual(first?.payload);
    expect(idsOf(receiver, key)).toEqual(new Set([`msg_${key.run_id}`]));
    const { attempts: tries } = await attemptsOf(bed, key, 2);
    expect(tries).toMatchObject([
      { round: 1, try: 1 },
      { round: 2, try: 1 },
    ]);
  });

  it('of a notification that was given up counts its attempts from one', async () => {
    await using receiver = await aReceiver(status(410));
    const key = await bed.succeed(`${receiver.url}/hook`);
    await expectEnd(bed, key, { status: 'failed', reason: 'gone', round: 1 });
    const looked = Promise.withResolvers<void>();
    receiver.answer = (arrived, response) => {
      if (receiver.of(key.run_id).length === 2) status(503)(arrived, response);
      else void looked.promise.then(() => status(200)(arrived, response));
    };
    await bed.happenTo(key, redeliveryRequested(key));
    await expectSoon('where it stands', async () =>
      expect((await readDeliveries(bed.log, key)).state).toMatchObject({
        state: 'retrying',
        round: 2,
        tries: 1,
      }),
    );
    expect(await bed.webhook(key)).toMatchObject({ status: 'running', round: 2 });
    looked.resolve();
    await expectEnd(bed, key, { status: 'success', round: 2, tries: 2 });
    expect(receiver.of(key.run_id)).toHaveLength(3);
    expect(idsOf(receiver, key)).toEqual(new Set([`msg_${key.run_id}`]));
    await expectSoon('nothing to wait', async () => expect(await timersOf(bed, key)).toEqual([]));
  });

  it('replaces a retry that waits', async () => {
    await using receiver = await aReceiver(status(500));
    const key = await bed.succeed(`${receiver.url}/hook`);
    await retryOf(bed, key);
    await bed.happenTo(key, redeliveryRequested(key));
    await expectSoon('the second round to wait', async () =>
      expect(await findPending(bed.log, { origin: receiver.url, ...key })).toMatchObject({
        delivery: { round: 2, tries: 1 },
      }),
    );
    expect(await timersOf(bed, key)).toHaveLength(1);
    expect(receiver.of(key.run_id)).toHaveLength(2);
    receiver.answer = status(200);
    await expectEnd(bed, key, { status: 'success', round: 2, tries: 2 });
    // What the first round would have been tried at is over by now.
    expect(receiver.of(key.run_id)).toHaveLength(3);
    expect(idsOf(receiver, key)).toEqual(new Set([`msg_${key.run_id}`]));
    await expectSoon('nothing to wait', async () => expect(await timersOf(bed, key)).toEqual([]));
  });

  it('that is requested many times ends with its last round, and one delivery', async () => {
    await using receiver = await aReceiver(status(500));
    const key = await bed.succeed(`${receiver.url}/hook`);
    await retryOf(bed, key);
    await bed.happenTo(key, ...[2, 3, 4].map((round) => redeliveryRequested(key, round)));
    await expectSoon('the last round to wait', async () =>
      expect(await findPending(bed.log, { origin: receiver.url, ...key })).toMatchObject({
        delivery: { round: 4, tries: 1 },
      }),
    );
    expect(await timersOf(bed, key)).toHaveLength(1);
    receiver.answer = status(200);
    await expectEnd(bed, key, { status: 'success', round: 4, tries: 2 });
    await expectSoon('nothing to wait', async () => expect(await timersOf(bed, key)).toEqual([]));
  });

  it('that is requested while an attempt is in flight is sent after it', async () => {
    let answered = 0;
    const letGo = Promise.withResolvers<void>();
    await using receiver = await aReceiver((arrived, response) => {
      answered += 1;
      if (answered > 1) status(200)(arrived, response);
      else void letGo.promise.then(() => status(200)(arrived, response));
    });
    const key = await bed.succeed(`${receiver.url}/hook`);
    await expectSoon('the first try', () => expect(receiver.of(key.run_id)).toHaveLength(1));
    await expectEnd(bed, key, { status: 'running', round: 1 });
    await bed.happenTo(key, redeliveryRequested(key));
    letGo.resolve();
    await expectEnd(bed, key, { status: 'success', round: 2, tries: 1 });
    expect(receiver.of(key.run_id)).toHaveLength(2);
    expect(await timersOf(bed, key)).toEqual([]);
  });

  it('of a deferred delivery is sent once, in the new round', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using one = await bed.start({ breaker: { firstOpenMs: 5_000 } });
    await using receiver = await aReceiver(status(500));
    const failed = await openBreaker(bed, one, `${receiver.url}/hook`);
    const key = await bed.succeed(`${receiver.url}/hook`);
    await expectSoon('its deferral', async () => expect(await timersOf(bed, key)).toHaveLength(1));
    await bed.happenTo(key, redeliveryRequested(key));
    await expectSoon('the second round to be deferred', async () =>
      expect(await findPending(bed.log, { origin: receiver.url, ...key })).toMatchObject({
        delivery: { round: 2, tries: 0 },
      }),
    );
    expect(await timersOf(bed, key)).toHaveLength(1);
    receiver.answer = status(200);
    await expectEnd(bed, key, { status: 'success', round: 2, tries: 1 });
    for (const other of failed) await expectEnd(bed, other, { status: 'success' });
    expect(receiver.of(key.run_id)).toHaveLength(1);
    await expectTidy(bed, one);
  });

  it('of a receiver that has come back is attempted before its time is over, however long its breaker was to stay open', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using receiver = await aReceiver(status(200));
    const key = await bed.succeed(`${receiver.url}/hook`);
    await bed.happenTo(key, webhookGivenUp(key, 1, { reason: 'expired' }));
    const until = new Date(Date.now() + 86_400_000).toISOString();
    await storeOpening(bed.log, { version: 1, origin: receiver.url, org_id: null, opens: 6, until });
    await using one = await bed.start({ breaker: { firstOpenMs: 2_000 }, giveUpAfterMs: 20_000 });
    await expectSoon('the breaker', async () => expect(await countOpen(one)).toBe(1));
    await bed.happenTo(key, redeliveryRequested(key));
    await expectEnd(bed, key, { status: 'success', round: 2, tries: 1 });
  });
});
