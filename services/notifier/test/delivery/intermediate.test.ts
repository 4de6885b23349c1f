import type { ServerResponse } from 'node:http';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { reportProgress } from '@runledger/event-log/streams/activity';
import { readDeliveries } from '@runledger/event-log/streams/delivery-attempts';
import { assigned, failed, EXECUTOR, started, succeeded, uploading } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  aReceiver,
  status,
  type Arrived,
  type Receiver,
} from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBed, type RunningNotifier, type TestBed } from '../fixtures/test-bed.ts';
import { expectSoon } from '../fixtures/expect-soon.ts';

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

const wanting = (receiver: Receiver): Promise<RunKey> =>
  bed.queue(`${receiver.url}/hook`, { webhook_intermediate_status: true });

/** A run that runs, and whose receiver knows it. */
const aRunning = async (receiver: Receiver): Promise<RunKey> => {
  const key = await wanting(receiver);
  await bed.happen(key, assigned(key), started(key));
  await expectTold(receiver, key, { status: 'running' });
  return key;
};

const report = (key: RunKey, progress: number, live_status: string | null = null): void =>
  reportProgress(bed.log, key, 1, EXECUTOR, { progress, live_status, time: new Date().toISOString() });

const expectTold = (receiver: Receiver, key: RunKey, payload: Partial<Arrived['payload']>): Promise<void> =>
  expectSoon('what arrives last', () =>
    expect(receiver.of(key.run_id).at(-1)?.payload).toMatchObject(payload),
  );

const statusesOf = (receiver: Receiver, key: RunKey): string[] =>
  receiver.of(key.run_id).map(({ payload }) => payload.status);

const expectDelivered = (key: RunKey): Promise<void> =>
  expectSoon('its outcome', async () => expect(await bed.webhook(key)).toMatchObject({ status: 'success' }));

/** Leaves every request unanswered until it is let go. */
const held = (): { answer: Receiver['answer']; letGo: (code: number) => void } => {
  const waiting: ServerResponse[] = [];
  return {
    answer: (_arrived, response) => void waiting.push(response),
    letGo: (code) => {
      for (const response of waiting.splice(0)) response.writeHead(code).end();
    },
  };
};

describe('progress', () => {
  it.concurrent('is part of the intermediate notifications', async () => {
    await using receiver = await aReceiver();
    const key = await aRunning(receiver);
    report(key, 0.25, 'rendering 1 of 4');
    await expectTold(receiver, key, {
      status: 'running',
      progress: 0.25,
      live_status: 'rendering 1 of 4',
      finished: false,
      outputs: [],
    });
  });

  it.concurrent('is sent at most once a second, always the latest report, and the last one is never lost', async () => {
    await using receiver = await aReceiver();
    const key = await aRunning(receiver);
    const before = receiver.of(key.run_id).length;
    for (let step = 1; step <= 90; step += 1) report(key, step / 100, `step ${step}`);
    await expectTold(receiver, key, { progress: 0.9, live_status: 'step 90' });
    const notified = receiver.of(key.run_id);
    expect(notified.length - before).toBeLessThan(10);
    // They leave a second apart; the first may have been on its way for longer than the second.
    const gaps = notified.slice(1).map(({ at }, index) => at - (notified[index]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(500);
  });

  it.concurrent('of a run that wants no intermediate notifications is not sent', async () => {
    await using receiver = await aReceiver();
    const quiet = await bed.queue(`${receiver.url}/hook`);
    await bed.happen(quiet, assigned(quiet), started(quiet));
    report(quiet, 0.5);
    const loud = await aRunning(receiver);
    report(loud, 0.5);
    await expectTold(receiver, loud, { progress: 0.5 });
    await bed.happen(quiet, succeeded(quiet));
    await expectDelivered(quiet);
    expect(statusesOf(receiver, quiet)).toEqual(['success']);
  });

  it.concurrent('of an attempt that is not the current one is not sent as such', async () => {
    await using receiver = await aReceiver();
    const key = await aRunning(receiver);
    reportProgress(bed.log, key, 2, EXECUTOR, {
      progress: 0.99,
      live_status: 'of nobody',
      time: new Date().toISOString(),
    });
    report(key, 0.5, 'of the attempt');
    await expectTold(receiver, key, { progress: 0.5, live_status: 'of the attempt' });
    expect(receiver.of(key.run_id).map(({ payload }) => payload.live_status)).not.toContain('of nobody');
  });
});

describe('the final notification', () => {
  it.concurrent('replaces an intermediate one that waits', async () => {
    await using receiver = await aReceiver();
    // Within the second, so that what runs has to wait; on a slow machine another run is quicker.
    const key = await waitFor('a run that ends within a second', async () => {
      const quick = await wanting(receiver);
      await expectTold(receiver, quick, { status: 'queued' });
      await bed.happen(quick, assigned(quick), started(quick), succeeded(quick));
      return performance.now() - (receiver.of(quick.run_id)[0]?.at ?? 0) < 500 && quick;
    });
    await expectDelivered(key);
    expect(statusesOf(receiver, key)).toEqual(['queued', 'success']);
  });

  it.concurrent('waits for an intermediate one in flight, and is the last', async () => {
    const { answer, letGo } = held();
    await using receiver = await aReceiver(answer);
    const key = await wanting(receiver);
    await expectTold(receiver, key, { status: 'queued' });
    await bed.happen(key, assigned(key), started(key), uploading(key), succeeded(key));
    // Another run's end, later in the log, arrives: so this one's was seen, and waits.
    await using healthy = await aReceiver();
    await expectDelivered(await bed.succeed(`${healthy.url}/hook`));
    expect(statusesOf(receiver, key)).toEqual(['queued']);
    receiver.answer = status(200);
    letGo(200);
    await expectDelivered(key);
    report(key, 0.7);
    const other = await aRunning(receiver);
    report(other, 0.7);
    await expectTold(receiver, other, { progress: 0.7 });
    expect(statusesOf(receiver, key)).toEqual(['queued', 'success']);
  });

  it.concurrent('has an id of its own', async () => {
    await using receiver = await aReceiver();
    const key = await aRunning(receiver);
    await bed.happen(key, failed(key));
    await expectDelivered(key);
    const ids = receiver.of(key.run_id).map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.at(-1)).toBe(`msg_${key.run_id}`);
  });
});

describe('an intermediate notification that is refused', () => {
  it.concurrent('is not attempted again, and leaves the webhook running', async () => {
    await using receiver = await aReceiver(status(500));
    const key = await wanting(receiver);
    await expectSoon('its outcome', async () =>
      expect(await bed.webhook(key)).toMatchObject({ status: 'running', round: 1 }),
    );
    await expectSoon('the try', async () => {
      const { intermediate, attempts: tries, state } = await readDeliveries(bed.log, key);
      expect(intermediate).toMatchObject({
        notification: 'intermediate',
        reason: 'server_error',
        status: 500,
      });
      expect(tries).toEqual([]);
      expect(state).toBeUndefined();
    });
    receiver.answer = status(200);
    await bed.happen(key, assigned(key), started(key));
    await expectTold(receiver, key, { status: 'running' });
    expect(await bed.webhook(key)).toMatchObject({ status: 'running' });
    await bed.happen(key, succeeded(key));
    await expectDelivered(key);
    expect(statusesOf(receiver, key)).toEqual(['queued', 'running', 'success']);
  });
});
