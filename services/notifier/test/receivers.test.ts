import { PARTITIONS } from '@runledger/contracts/deliveries/timers';
import { newUuid, orgId } from '@runledger/contracts/ids';
import type { ReceiverState } from '@runledger/contracts/deliveries/receivers';
import { requestReceivers } from '@runledger/request-reply/receivers';
import { aReceiver, status } from '@runledger/testing/stand-ins/webhook-receiver';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { respondAboutReceivers } from '../src/respond-about-receivers.ts';
import { freePort, succeedOften } from './fixtures/breakers.ts';
import { expectSoon } from './fixtures/expect-soon.ts';
import { openTestBed, type RunningNotifier, type TestBed } from './fixtures/test-bed.ts';

const WITHIN = { totalMs: 2_000, quietMs: 400, most: 16 };

let bed: TestBed;
let running: RunningNotifier;
let responding: Disposable;
beforeAll(async () => {
  bed = await openTestBed();
  running = await bed.start({ breaker: { firstOpenMs: 2_000 } });
  responding = respondAboutReceivers(bed.log, running.notifier);
  await waitFor('all partitions to be held', async () => running.notifier.partitions() === PARTITIONS);
});
afterAll(async () => {
  responding[Symbol.dispose]();
  await running[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

const ask = (origins: readonly string[] = [], org = bed.org) =>
  requestReceivers(bed.log, { org_id: org, host: null, origins: [...origins] }, WITHIN);
const at = async (origin: string, org = bed.org): Promise<ReceiverState | undefined> =>
  (await ask([], org)).receivers.find((one) => one.origin === origin);

describe('a receiver that fails', () => {
  it('is open with the time of its next probe, then mended, probed and closed', async () => {
    await using receiver = await aReceiver(status(500));
    const origin = receiver.url;
    await succeedOften(bed, `${origin}/hook`, 5);
    const open = await waitFor('it to be open', async () => {
      const asked = Date.now();
      const state = await at(origin);
      return state?.state === 'open' ? { asked, ...state } : undefined;
    });
    expect(open).toMatchObject({
      shared: false,
      failures_in_a_row: 5,
      in_flight: 0,
      max_in_flight: 0,
      waiting: 5,
      held_up_by: 'breaker',
      last_success_at: null,
      last_failure: { reason: 'server_error', status: 500, message: `${new URL(origin).host} answered 500.` },
    });
    expect(Date.parse(open.next_probe_at ?? '')).toBe(Date.parse(open.since ?? '') + 2_000);
    expect(Date.parse(open.next_probe_at ?? '')).toBeGreaterThan(open.asked);

    await succeedOften(bed, `${origin}/hook`, 15);
    await expectSoon('all to be counted', async () =>
      expect(await at(origin)).toMatchObject({ waiting: 20 }),
    );
    receiver.answer = status(200);
    await expectSoon('it to be closed', async () =>
      expect(await at(origin)).toMatchObject({ state: 'closed', next_probe_at: null, waiting: 0 }),
    );
    expect(await at(origin)).toMatchObject({
      failures_in_a_row: 0,
      failing_since: null,
      held_up_by: null,
      last_success_at: expect.any(String),
      last_failure: { status: 500 },
    });
  });

  it('shows another organisation nothing, unless it has deliveries there', async () => {
    const origin = `http://127.0.0.1:${await freePort()}`;
    await succeedOften(bed, `${origin}/hook`, 5);
    await expectSoon('it to be open', async () =>
      expect(await at(origin)).toMatchObject({ state: 'open', shared: true, failures_in_a_row: 5 }),
    );
    const other = orgId(newUuid());
    expect(await ask([], other)).toEqual({ receivers: [], more: false, complete: true });
    expect((await ask([origin], other)).receivers).toEqual([
      {
        origin,
        state: 'open',
        shared: true,
        since: null,
        next_probe_at: expect.any(String),
        failures_in_a_row: 0,
        failing_since: null,
        waiting: 0,
        in_flight: 0,
        max_in_flight: 0,
        held_up_by: null,
        last_success_at: null,
        last_failure: null,
      },
    ]);
  });
});

describe('two notifiers', () => {
  it('answer each for its partitions, and what is missing is said', async () => {
    await using receivers = new AsyncDisposableStack();
    const origins: string[] = [];
    for (let n = 0; n < 6; n += 1) origins.push(receivers.use(await aReceiver()).url);
    await using second = await bed.start();
    await expectSoon('the partitions to be divided', () =>
      expect([running, second].map(({ notifier }) => notifier.partitions())).toEqual([8, 8]),
    );
    const org = orgId(newUuid());
    expect((await ask(origins, org)).complete).toBe(false);
    using both = new DisposableStack();
    both.use(respondAboutReceivers(bed.log, second.notifier));
    await Promise.all(origins.map((origin) => bed.succeed(`${origin}/hook`, org)));
    await expectSoon('all to be accepted', async () => {
      const { receivers: known, complete } = await ask([], org);
      expect(complete).toBe(true);
      expect(known.map(({ origin }) => origin)).toEqual(origins.toSorted());
      expect(known.every(({ last_success_at }) => last_success_at !== null)).toBe(true);
    });
  });
});
