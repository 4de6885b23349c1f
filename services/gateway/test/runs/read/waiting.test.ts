import { Capacity, type WaitReason } from '@runledger/contracts/requests/queue-position';
import { newUuid } from '@runledger/contracts/ids';
import { respondWithQueuePositions } from '@runledger/request-reply/queue-positions';
import { respondWithWaitReasons } from '@runledger/request-reply/wait-reason';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const waitingOf = (run_id: string, key = bed.tenant.key) => call(`${gateway.api}/run/${run_id}/waiting`, key);

const aWait = (changes: Partial<WaitReason> = {}): WaitReason => ({
  ahead: 2,
  capacity: 'busy',
  eta: null,
  no_eta: 'no_durations',
  gpu: 'A10G',
  executors: { serving: 1, busy_slots: 2, free_slots: 0, draining: 1 },
  ...changes,
});

/** One that leads, and says this of every run. */
const aScheduler = async (waitOf: () => WaitReason | null): Promise<Disposable> => {
  const answering = respondWithWaitReasons(bed.log, waitOf);
  await bed.log.nc.flush();
  return answering;
};

describe('GET /run/{run_id}/waiting', () => {
  it('shows why the run waits, in counts, and when it times out', async () => {
    using scheduler = await aScheduler(() => aWait());
    expect(scheduler).toBeDefined();
    const { run_id } = await queueSample(gateway, bed.tenant);
    const { status, body } = await waitingOf(run_id);
    const { queued_at } = (await call(`${gateway.api}/run/${run_id}`, bed.tenant.key)).body;
    const { capacity, no_eta: _why, ...wait } = aWait();
    expect([status, body]).toEqual([
      200,
      {
        run_id,
        status: 'queued',
        waiting: {
          ...wait,
          reason: capacity,
          not_before: null,
          eta_sentence: 'nobody can say yet: too few runs have ended that used the GPU model A10G',
          sentence: 'waiting for an A10G (2 ahead)',
          for_s: expect.any(Number),
          gives_up_at: new Date(Date.parse(queued_at) + 3_600_000).toISOString(),
        },
      },
    ]);
    expect(body.waiting.for_s).toBeGreaterThanOrEqual(0);
  });

  it('shows the time before which a delayed run does not start, and counts its deadline from there', async () => {
    using scheduler = await aScheduler(() => aWait({ ahead: 0, capacity: 'delayed', no_eta: 'not_yet' }));
    expect(scheduler).toBeDefined();
    const { run_id } = await queueSample(gateway, bed.tenant, { delay_s: 60 });
    const run = (await call(`${gateway.api}/run/${run_id}`, bed.tenant.key)).body;
    const at = Date.parse(run.queued_at) + 60_000;
    const not_before = new Date(at).toISOString();
    expect((await waitingOf(run_id)).body.waiting).toMatchObject({
      reason: 'delayed',
      not_before,
      sentence: `waiting until ${not_before}, as requested`,
      eta: null,
      eta_sentence: `not before ${not_before}; nobody can say how long the queue will be then`,
      gives_up_at: new Date(at + 3_600_000).toISOString(),
    });
    expect(run).toMatchObject({ status: 'queued', start_at: not_before, queue_position: null });
  });

  it.each<[string, Partial<WaitReason>, string]>([
    [
      'an interval',
      {
        eta: {
          earliest: '2026-05-01T12:00:00.000Z',
          expected: '2026-05-01T12:01:00.000Z',
          latest: '2026-05-01T12:03:00.000Z',
        },
        no_eta: null,
      },
      'about 2026-05-01T12:01:00.000Z; in 8 of 10 cases between 2026-05-01T12:00:00.000Z and 2026-05-01T12:03:00.000Z',
    ],
    [
      'another reason to wait',
      { capacity: 'no_gpu', no_eta: 'not_busy' },
      'nobody can say: it waits for something else than the ends of other runs',
    ],
  ])('says when the run starts, or why nobody knows: %s', async (_what, wait, sentence) => {
    using scheduler = await aScheduler(() => aWait(wait));
    expect(scheduler).toBeDefined();
    const { run_id } = await queueSample(gateway, bed.tenant);
    expect((await waitingOf(run_id)).body.waiting).toMatchObject({
      eta: wait.eta ?? null,
      eta_sentence: sentence,
    });
  });

  it.each(Capacity.enum)('gives for %s the sentence that live_status gives', async (capacity) => {
    const place = { ahead: 0, capacity };
    using waits = await aScheduler(() => aWait(place));
    using places = respondWithQueuePositions(bed.log, (keys) => keys.map(() => place));
    expect([waits, places]).toBeDefined();
    await bed.log.nc.flush();
    // One that was not left without an answer a moment ago.
    const fresh = await bed.gateway();
    const { run_id } = await queueSample(fresh, bed.tenant);
    const { body } = await call(`${fresh.api}/run/${run_id}/waiting`, bed.tenant.key);
    const run = await call(`${fresh.api}/run/${run_id}`, bed.tenant.key);
    expect(body.waiting).toMatchObject({ reason: capacity, sentence: run.body.live_status });
  });

  it('waits a moment for a scheduler that has not read the run yet', async () => {
    let asked = 0;
    using scheduler = await aScheduler(() => ((asked += 1) < 3 ? null : aWait()));
    expect(scheduler).toBeDefined();
    const { run_id } = await queueSample(gateway, bed.tenant);
    expect((await waitingOf(run_id)).body).toMatchObject({ waiting: { ahead: 2 } });
    expect(asked).toBe(3);
  });

  it('shows the status of a run that does not wait, without a scheduler', async () => {
    const { run_id } = await queueSample(gateway, bed.tenant);
    await post(`${gateway.api}/run/${run_id}/cancel`, bed.tenant.key);
    const { status, body } = await waitingOf(run_id);
    expect([status, body]).toEqual([200, { run_id, status: 'cancelled', waiting: null }]);
  });

  it('answers alike for an unknown run and a run of another organisation', async () => {
    using scheduler = await aScheduler(() => aWait());
    expect(scheduler).toBeDefined();
    const { run_id } = await queueSample(gateway, bed.tenant);
    const other = await bed.newTenant();
    const operator = await aKey(bed.log, other, { scopes: ['admin', 'operator'] });
    for (const key of [other.key, operator]) {
      const { status, body } = await waitingOf(run_id, key);
      expect([status, body]).toEqual([404, aRefusal('run_not_found', 'Run not found')]);
    }
    expect((await waitingOf(newUuid())).body).toEqual(aRefusal('run_not_found', 'Run not found'));
    expect((await waitingOf(run_id)).status).toBe(200);
  });

  it('answers 503 when no scheduler leads, or it has not read the queued run', async () => {
    const { run_id } = await queueSample(gateway, bed.tenant);
    const alone = await waitingOf(run_id);
    expect([alone.status, alone.body.detail]).toEqual([
      503,
      expect.stringMatching(/^No scheduler leads now/),
    ]);
    expect(alone.headers.get('retry-after')).toMatch(/^\d+$/);
    using scheduler = await aScheduler(() => null);
    expect(scheduler).toBeDefined();
    const behind = await waitingOf(run_id);
    expect([behind.status, behind.body]).toMatchObject([
      503,
      { detail: expect.stringContaining('has not read it yet'), code: 'scheduler_behind' },
    ]);
  });
});
