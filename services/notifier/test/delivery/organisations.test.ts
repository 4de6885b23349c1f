import { newUuid, orgId } from '@runledger/contracts/ids';
import { assigned, started, succeeded } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aReceiver, silence, status } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBed, type RunningNotifier, type TestBed } from '../fixtures/test-bed.ts';
import { expectSoon } from '../fixtures/expect-soon.ts';

const LONG_MS = 120_000;
const hanging = orgId(newUuid());

let bed: TestBed;
let running: RunningNotifier;
beforeAll(async () => {
  bed = await openTestBed();
  running = await bed.start({ withinMs: LONG_MS, maxInFlight: 16, finishWithinMs: 0 });
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

describe('two tenants on one host', () => {
  it('do not wait for each other when the path of one of them hangs', async () => {
    await using receiver = await aReceiver((arrived, response) =>
      (arrived.path === '/hangs' ? silence : status(200))(arrived, response),
    );
    const stuck = await Promise.all(
      Array.from({ length: 50 }, () => bed.succeed(`${receiver.url}/hangs`, hanging)),
    );
    await expectSoon('some to hang', () => expect(receiver.arrived.length).toBeGreaterThan(0));

    // One after the other: each takes less time than one that hangs would hold a permit.
    for (let time = 0; time < 20; time += 1) {
      const key = await bed.succeed(`${receiver.url}/hook`);
      await expectSoon('its notification', async () =>
        expect(await bed.webhook(key)).toMatchObject({ status: 'success', tries: 1 }),
      );
    }
    const hung = receiver.arrived.filter(({ path }) => path === '/hangs');
    // A receiver that never answered takes few permits, however many notifications wait for it.
    expect(hung.length).toBeLessThanOrEqual(2);
    for (const key of stuck) expect(await bed.webhook(key)).not.toMatchObject({ status: 'success' });
  });

  it('both get the states of their runs in order', async () => {
    await using receiver = await aReceiver((arrived, response) =>
      (arrived.path === '/hangs' ? silence : status(200))(arrived, response),
    );
    await Promise.all(Array.from({ length: 20 }, () => bed.succeed(`${receiver.url}/hangs`, hanging)));
    const keys = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const key = await bed.queue(`${receiver.url}/hook`, { webhook_intermediate_status: true });
        await expectSoon('that it is queued', () =>
          expect(receiver.of(key.run_id)).toMatchObject([{ payload: { status: 'queued' } }]),
        );
        await bed.happen(key, assigned(key), started(key));
        return key;
      }),
    );
    for (const key of keys) {
      await expectSoon('that it runs', () =>
        expect(receiver.of(key.run_id).at(-1)).toMatchObject({ payload: { status: 'running' } }),
      );
      await bed.happen(key, succeeded(key));
      await expectSoon('its end', () =>
        expect(receiver.of(key.run_id).at(-1)).toMatchObject({ payload: { finished: true } }),
      );
    }
    for (const key of keys) {
      const notified = receiver.of(key.run_id).map(({ payload }) => payload);
      expect(notified.map((payload) => payload.status)).toEqual(['queued', 'running', 'success']);
      const sequences = notified.map((payload) => payload.sequence);
      expect(sequences).toEqual(sequences.toSorted((one, other) => one - other));
    }
  });
});

describe('many origins that hang', () => {
  it('leave permits for the others', async () => {
    const holes = await Promise.all(Array.from({ length: 12 }, () => aReceiver(silence)));
    await using stack = new AsyncDisposableStack();
    for (const hole of holes) stack.use(hole);
    await using receiver = await aReceiver();
    for (const hole of holes) await bed.succeed(`${hole.url}/hangs`, hanging);
    await expectSoon('some to hang', async () =>
      expect(await running.metric('runledger_notifier_in_flight')).toBeGreaterThanOrEqual(4),
    );
    const keys = await Promise.all(Array.from({ length: 20 }, () => bed.succeed(`${receiver.url}/hook`)));
    await expectSoon('all notifications', () => {
      for (const key of keys) expect(receiver.of(key.run_id)).toHaveLength(1);
    });
  });
});
