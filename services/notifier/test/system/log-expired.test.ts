import { nanos } from '@nats-io/transport-node';
import { webhookFilter, type RunKey } from '@runledger/contracts/events/subjects';
import { lastMessage } from '@runledger/event-log/read/leader-read';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { parseJson } from '@runledger/event-log/read/stored-message';
import { append } from '@runledger/event-log/append/append';
import { readWebhookEnd } from '@runledger/event-log/read/read-run';
import { assigned, expired, runRequest, started, succeeded } from '@runledger/testing/run-events';
import { redeliveryRequested, webhookGivenUp, webhookStarted } from '@runledger/testing/webhook-events';
import { aReceiver, status } from '@runledger/testing/stand-ins/webhook-receiver';
import { describe, expect, it } from 'vitest';
import { expectTimer } from '../fixtures/expect-guarantees.ts';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { storedTimers } from '../fixtures/stored-timers.ts';
import { openTestBedOnOwnBroker, type TestBed } from '../fixtures/test-bed.ts';

const LIMIT_MS = 60_000;
const DAY_MS = 86_400_000;

/** As an operator who changes runsMaxAgeMs. */
const keepFor = async ({ log }: TestBed, ms: number): Promise<void> => {
  await log.jsm.streams.update('RUNS', {
    max_age: nanos(ms),
    duplicate_window: nanos(Math.min(ms, 120_000)),
  });
};

/** Lets everything expire that is older, up to this sequence, and keeps the rest. */
const letExpire = async (bed: TestBed, ms: number, upTo: number): Promise<void> => {
  await keepFor(bed, ms);
  await expectSoon('the facts to expire', async () =>
    expect((await runsIdentity(bed.log)).firstSequence).toBeGreaterThan(upTo),
  );
  await keepFor(bed, 7 * DAY_MS);
};

/** The last webhook fact, which the log still has. */
const expectGivenUp = (bed: TestBed, key: RunKey): Promise<void> =>
  expectSoon('it to be given up', async () => {
    const last = await lastMessage(bed.log, 'RUNS', webhookFilter(key));
    expect(last && parseJson(last.data)).toMatchObject({
      type: 'WebhookGivenUp',
      data: { reason: 'log_expired', message: expect.stringContaining('from the log') },
    });
  });

describe('a delivery whose run leaves the log', { timeout: LIMIT_MS }, () => {
  it('is given up while the run can still be read', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using receiver = await aReceiver(status(503));
    await keepFor(bed, 10_000);
    await using running = await bed.start();
    const key = await bed.succeed(`${receiver.url}/hook`);
    await expectSoon('it to be given up', async () =>
      expect(await bed.webhook(key)).toMatchObject({ status: 'failed', reason: 'log_expired' }),
    );
    expect(await running.metric('runledger_notifier_deliveries_total', { end: 'log_expired' })).toBe(1);
  });

  it('is not given up once an operator has raised the age of the log', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using receiver = await aReceiver();
    await keepFor(bed, 6_000);
    await using open = new AsyncDisposableStack();
    open.use(await bed.start());
    const first = await bed.succeed(`${receiver.url}/hook`);
    await expectSoon('the first one', () => expect(receiver.of(first.run_id)).toHaveLength(1));
    await keepFor(bed, 7 * DAY_MS);
    await expectSoon('an old one to be sent', async () => {
      const key = await bed.queue(`${receiver.url}/hook`);
      // So that it would be too old for the first age.
      await new Promise((resolve) => setTimeout(resolve, 6_000));
      await bed.happen(key, assigned(key), started(key), succeeded(key));
      await expectSoon('its outcome', async () =>
        expect(await bed.webhook(key)).toMatchObject({ status: expect.stringMatching('success|failed') }),
      );
      expect(await bed.webhook(key)).toMatchObject({ status: 'success' });
    });
  });

  it('is given up when all facts of the run are gone', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using receiver = await aReceiver(status(503));
    await using running = await bed.start();
    const key = await bed.succeed(`${receiver.url}/hook`);
    await expectTimer(bed, key, 'wait');
    await letExpire(bed, 100, (await runsIdentity(bed.log)).lastSequence);
    await expectGivenUp(bed, key);
    await expectSoon('nothing to wait', async () => expect(await storedTimers(bed.log)).toEqual([]));
    expect(await running.metric('runledger_notifier_deliveries_total', { end: 'log_expired' })).toBe(1);
  });

  it('is given up when the first fact was gone before a notifier read the end', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using receiver = await aReceiver();
    const key = await bed.queue(`${receiver.url}/hook`);
    await bed.happen(key, assigned(key));
    const { lastSequence } = await runsIdentity(bed.log);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await bed.happen(key, started(key), succeeded(key));
    await letExpire(bed, 2_000, lastSequence);
    await using running = await bed.start();
    await expectGivenUp(bed, key);
    expect(receiver.arrived).toEqual([]);
    expect(await running.metric('runledger_notifier_deliveries_total', { end: 'log_expired' })).toBe(1);
  });
});

describe('a run that outlives the log', { timeout: LIMIT_MS }, () => {
  it('has its end notified, although the log has nothing else of it', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using receiver = await aReceiver(status(200));
    await using running = await bed.start();
    const webhook = `${receiver.url}/hook`;
    const key = await bed.queue(webhook);
    await letExpire(bed, 1_000, 1);
    const end = expired(key, { request: runRequest({ webhook }) });
    expect(await append(bed.log, end, 0)).toMatchObject({ kind: 'appended' });
    await expectSoon('its notification', () =>
      expect(receiver.of(key.run_id)).toMatchObject([
        { payload: { status: 'failed', end_reason: 'log_expired', finished: true } },
      ]),
    );
    await expectSoon('its outcome', async () =>
      expect(await bed.webhook(key)).toMatchObject({ status: 'success', tries: 1 }),
    );
    expect(await running.metric('runledger_notifier_deliveries_total', { end: 'log_expired' })).toBe(0);
  });

  it('has its redelivery sent, although the first facts of its notifications are gone', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using receiver = await aReceiver();
    const webhook = `${receiver.url}/hook`;
    const key = await bed.queue(webhook, { webhook_intermediate_status: true });
    await bed.happenTo(key, webhookStarted(key, 'intermediate'));
    const { lastSequence } = await runsIdentity(bed.log);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await bed.happen(key, expired(key, { request: runRequest({ webhook }) }));
    await bed.happenTo(key, webhookGivenUp(key), redeliveryRequested(key));
    await letExpire(bed, 2_000, lastSequence);
    await using running = await bed.start();
    await expectSoon('its notification', () => expect(receiver.of(key.run_id)).toHaveLength(1));
    await expectSoon('its outcome', async () =>
      expect(await readWebhookEnd(bed.log, key)).toMatchObject({ status: 'settled', round: 2 }),
    );
    await expectSoon('nothing to wait', async () => expect(await storedTimers(bed.log)).toEqual([]));
    expect(await running.metric('runledger_notifier_deliveries_total', { end: 'delivered' })).toBe(1);
  });
});
