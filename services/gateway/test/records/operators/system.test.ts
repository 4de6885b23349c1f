import type { System } from '@runledger/contracts/http/system';
import type { ServiceWithInstances } from '@runledger/contracts/requests/instances';
import { acquireLease, LEASE_TTL_MS } from '@runledger/coordination/lease';
import { ALL_STREAMS } from '@runledger/event-log/provision/provision';
import { respondWithExecutors } from '@runledger/request-reply/executors';
import { respondAsInstance } from '@runledger/request-reply/instances';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemReader } from '../../../src/records/operators/system.ts';
import { VIEW_VERSION } from '../../../src/views/stored-run.decide.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, openTestBedOnOwnBroker, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';

let bed: TestBed;
let gateway: TestGateway;
let operator: string;
/** It queues the runs of schedules. */
let itself: string;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ projecting: true });
  operator = await aKey(bed.log, bed.tenant, { scopes: ['operator'] });
  itself = await waitFor('the gateway to hold a lease', async () => (await read()).leaders[0]?.holder);
});
afterAll(() => bed[Symbol.asyncDispose]());

const read = async (): Promise<System> => {
  const { status, body } = await call(`${gateway.api}/system`, operator);
  expect(status).toBe(200);
  return body;
};

const present = (service: ServiceWithInstances, instance: string, doing: object): Disposable =>
  respondAsInstance(bed.log, {
    service,
    instance,
    startedAt: new Date('2026-05-01T12:00:00.000Z'),
    software_version: '1.2.3',
    readiness: async () => ({ checks: {} }),
    doing: () => doing,
  });

const noExecutors = () =>
  respondWithExecutors(bed.log, () => ({ executors: [], more: false, read_up_to: 0 }));

describe('GET /system', () => {
  it('shows processes, leaders, the views and the streams', async () => {
    using open = new DisposableStack();
    open.use(present('gateway', itself, { leads: true, position: 1 }));
    open.use(present('scheduler', 'scheduler-1', { leads: true, term: 4 }));
    open.use(present('scheduler', 'scheduler-2', { leads: false }));
    open.use(present('notifier', 'notifier-1', { partitions: 32 }));
    open.use(noExecutors());
    const lease = { name: 'scheduler', holder: 'scheduler-1', ttlMs: LEASE_TTL_MS };
    const held = await acquireLease(bed.log, lease, AbortSignal.timeout(10_000));
    await queueSample(gateway, bed.tenant);
    await waitFor('the views to have the run', async () => (await read()).projection?.lag_messages === 0);
    const system = await read();
    expect([system.complete, system.did_not_respond]).toEqual([true, []]);
    expect(
      system.instances.map(({ service, instance, ready, leads, term, partitions }) => [
        service,
        instance,
        ready,
        leads,
        term,
        partitions,
      ]),
    ).toEqual([
      ['gateway', itself, true, true, null, null],
      ['scheduler', 'scheduler-1', true, true, 4, null],
      ['scheduler', 'scheduler-2', true, false, null, null],
      ['notifier', 'notifier-1', true, null, null, 32],
    ]);
    expect(system.leaders).toMatchObject([
      { lease: 'scheduler', holder: 'scheduler-1' },
      { lease: 'schedules', holder: itself },
    ]);
    expect(system.executors).toEqual({ ready: 0, draining: 0, unresponsive: 0, absent: 0, more: false });
    expect(system.projection).toMatchObject({ lag_messages: 0, lag_seconds: 0 });
    expect(system.streams.map(({ name }) => name)).toEqual(ALL_STREAMS);
    const [runs] = system.streams.filter(({ name }) => name === 'RUNS');
    expect(runs).toMatchObject({ kind: 'stream', copies: 1, current_copies: 1, leader: null });
    expect(runs?.messages).toBeGreaterThan(0);
    expect(runs?.max_bytes).toBeGreaterThan(runs?.bytes ?? Infinity);
    expect(system.storage?.used_bytes).toBeGreaterThan(0);
    expect(system.dead_letters).toBe(0);
    expect(system.untrusted_proxy).toBeNull();
    await held.release();
  });

  it('names what does not respond', async () => {
    using open = new DisposableStack();
    open.use(present('gateway', itself, {}));
    const lease = { name: `projection.v${VIEW_VERSION}`, holder: 'gateway-gone', ttlMs: LEASE_TTL_MS };
    const held = await acquireLease(bed.log, lease, AbortSignal.timeout(10_000));
    const system = await read();
    expect(system.complete).toBe(false);
    expect(system.did_not_respond).toEqual(['scheduler', 'notifier', 'gateway-gone', 'executors']);
    expect(system.executors).toBeNull();
    await held.release();
  });

  it('names the proxy that is not trusted, whose clients count as one', async () => {
    await using behind = await bed.gateway();
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    await call(`${behind.api}/whoami`, bed.tenant.key, { headers });
    const { body } = await call(`${behind.api}/system`, operator);
    expect(body.untrusted_proxy).toBe('127.0.0.1');
  });

  it('is for operators only', async () => {
    const { status } = await call(`${gateway.api}/system`, bed.tenant.key);
    expect(status).toBe(403);
  });
});

describe('a broker that does not respond', () => {
  it('holds the answer up for less than two seconds', async () => {
    await using alone = await openTestBedOnOwnBroker();
    const readSystem = systemReader({ log: alone.log, position: () => 1, untrustedProxy: () => undefined });
    await alone.nats.pause();
    const since = performance.now();
    const system = await readSystem();
    expect(performance.now() - since).toBeLessThan(2_000);
    alone.nats.resume();
    expect(system).toMatchObject({
      complete: false,
      instances: [],
      streams: [],
      projection: null,
      storage: null,
    });
    expect(system.did_not_respond).toEqual([
      'gateway',
      'scheduler',
      'notifier',
      'leases',
      'executors',
      'projection',
      'broker',
      ...ALL_STREAMS,
    ]);
  });
});
