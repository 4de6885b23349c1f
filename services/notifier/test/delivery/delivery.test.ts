import { readDeliveries } from '@runledger/event-log/streams/delivery-attempts';
import { assigned, cancelRequested, started, succeeded, uploading } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aReceiver, silence, status } from '@runledger/testing/stand-ins/webhook-receiver';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { holdResponses } from '../fixtures/held-responses.ts';
import { openTestBed, type RunningNotifier, type TestBed } from '../fixtures/test-bed.ts';

let bed: TestBed;
let running: RunningNotifier;
beforeAll(async () => {
  bed = await openTestBed();
  running = await bed.start();
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

describe('a run that ended', () => {
  it('is sent to its webhook once, signed, and the run shows it', async () => {
    await using receiver = await aReceiver();
    const key = await bed.succeed(`${receiver.url}/hook?token=s3cret`);
    await expectSoon('its outcome', async () =>
      expect(await bed.webhook(key)).toMatchObject({ status: 'success', tries: 1, round: 1 }),
    );
    const [arrived, ...more] = receiver.of(key.run_id);
    expect(more).toEqual([]);
    expect(arrived).toMatchObject({
      path: '/hook?token=s3cret',
      payload: { status: 'success', finished: true, end_reason: 'completed', live_status: null, progress: 1 },
    });
    const [secret = ''] = await bed.secrets.valid(bed.org);
    expect(new Webhook(secret).verify(arrived?.body ?? '', { ...arrived?.headers })).toEqual(
      arrived?.payload,
    );
  });

  it('has its attempts recorded, without the query of the URL and the answer of an inner address', async () => {
    await using receiver = await aReceiver((_arrived, response) => void response.end('inner s3cret'));
    const key = await bed.succeed(`${receiver.url}/hook?token=s3cret`);
    const { attempts: tries } = await waitFor('the try', async () => {
      const read = await readDeliveries(bed.log, key);
      return read.attempts.length > 0 && read;
    });
    expect(tries[0]).toMatchObject({
      reason: 'accepted',
      status: 200,
      answer: null,
      round: 1,
      try: 1,
    });
    expect(JSON.stringify(tries)).not.toContain('s3cret');
  });

  it('by a cancel in the queue is sent', async () => {
    await using receiver = await aReceiver();
    const key = await bed.queue(`${receiver.url}/hook`);
    await bed.happen(key, cancelRequested(key));
    await expectSoon('what arrives', () =>
      expect(receiver.of(key.run_id)).toMatchObject([{ payload: { status: 'cancelled' } }]),
    );
  });

  it('without a webhook is not sent', async () => {
    await using receiver = await aReceiver();
    const silentRun = await bed.succeed(null);
    const notified = await bed.succeed(`${receiver.url}/hook`);
    await expectSoon('what arrives', () => expect(receiver.of(notified.run_id)).toHaveLength(1));
    expect(await bed.webhook(silentRun)).toBeUndefined();
  });

  it('is sent again after a refusal, with the same id and a new time', async () => {
    let tries = 0;
    await using receiver = await aReceiver((arrived, response) => {
      tries += 1;
      status(tries === 1 ? 500 : 204)(arrived, response);
    });
    const key = await bed.succeed(`${receiver.url}/hook`);
    await expectSoon('its outcome', async () =>
      expect(await bed.webhook(key)).toMatchObject({ status: 'running' }),
    );
    await expectSoon('its outcome', async () =>
      expect(await bed.webhook(key)).toMatchObject({ status: 'success', tries: 2 }),
    );
    const [first, second] = receiver.of(key.run_id);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(Number(second?.headers['webhook-timestamp'])).toBeGreaterThan(
      Number(first?.headers['webhook-timestamp']),
    );
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(3_900);
  });

  it('shows that its notification is being sent while the receiver is slow', async () => {
    await using receiver = await aReceiver(silence);
    const key = await bed.succeed(`${receiver.url}/hook`);
    await expectSoon('its outcome', async () =>
      expect(await bed.webhook(key)).toMatchObject({ status: 'running' }),
    );
    expect(receiver.of(key.run_id)).toHaveLength(1);
  });
});

describe('a run that wants intermediate notifications', () => {
  it('is sent while it executes, at most once a second, and nothing follows its end', async () => {
    // Each is answered once the facts are stored that the next one shows.
    const [queuedOne, runningOne] = [holdResponses(), holdResponses()];
    await using receiver = await aReceiver(queuedOne.answer);
    const key = await bed.queue(`${receiver.url}/hook`, { webhook_intermediate_status: true });
    const arrives = (number: number): Promise<void> =>
      expectSoon('what arrives', () => expect(receiver.of(key.run_id)).toHaveLength(number));
    await arrives(1);
    await bed.happen(key, assigned(key), started(key));
    queuedOne.release(receiver);
    receiver.answer = runningOne.answer;
    await arrives(2);
    await bed.happen(key, uploading(key), succeeded(key));
    runningOne.release(receiver);
    await expectSoon('its outcome', async () =>
      expect(await bed.webhook(key)).toMatchObject({ status: 'success' }),
    );
    const notified = receiver.of(key.run_id);
    expect(notified.map(({ payload }) => payload.status)).toEqual(['queued', 'running', 'success']);
    const [first, second] = notified;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_000);
  });
});
