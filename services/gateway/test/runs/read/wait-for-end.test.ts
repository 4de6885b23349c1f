import { assigned, aRun, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revokeApiKey } from '../../../src/records/keys/api-keys.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { startGatewayProcess } from '../../fixtures/gateway/a-service.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const ownRun = () => aRun(bed.tenant.org_id);
const read = (run: string, query = '', key = bed.tenant.key, init: RequestInit = {}) =>
  call(`${gateway.api}/run/${run}${query}`, key, init);

/** One for each gateway through which somebody has watched a run. */
const tails = async (): Promise<number> => (await bed.log.jsm.streams.info('RUNS')).state.consumer_count;

describe('a GET that waits', () => {
  it('gets its response when the run ends', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run), assigned(run), started(run));
    const asked = read(run.run_id, '?wait=60');
    await waitFor('somebody to watch', async () => (await tails()) > 0);
    await appendAll(bed.log, succeeded(run));
    expect((await asked).body).toMatchObject({ status: 'success', finished: true });
  });

  it('gets the run as it is at the deadline', async () => {
    const { run_id } = await queueSample(gateway, bed.tenant);
    const { status, body } = await read(run_id, '?wait=0.3');
    expect([status, body.status]).toEqual([200, 'queued']);
  });

  it('gets its response at once when the run has ended, is unknown, or wait is 0', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run), assigned(run), started(run), succeeded(run));
    expect((await read(run.run_id, '?wait=60')).body.status).toBe('success');
    expect((await read(ownRun().run_id, '?wait=60')).status).toBe(404);
    const open = await queueSample(gateway, bed.tenant);
    expect((await read(open.run_id, '?wait=0')).body.status).toBe('queued');
  });

  it.each([
    ['-1', 'greater_than_equal'],
    ['60.5', 'less_than_equal'],
    ['long', 'float_parsing'],
    ['', 'float_parsing'],
  ])('is refused for %s seconds', async (seconds, type) => {
    const { status, body } = await read(ownRun().run_id, `?wait=${seconds}`);
    expect([status, body.detail]).toEqual([422, [{ loc: ['query', 'wait'], msg: expect.any(String), type }]]);
  });

  it('gets a 401 when its key is revoked meanwhile', async () => {
    const { run_id } = await queueSample(gateway, bed.tenant);
    const key = await aKey(bed.log, bed.tenant, {});
    const asked = read(run_id, '?wait=60', key);
    await waitFor('the key to be known', async () => (await read(run_id, '', key)).status === 200);
    await revokeApiKey(bed.log, key);
    expect((await asked).status).toBe(401);
  });

  it('gets the run as it is when the service stops', async () => {
    const { run_id } = await queueSample(gateway, bed.tenant);
    await using stopped = await startGatewayProcess({
      ...bed.nats.env,
      RUNLEDGER_VIEWS: 'sqlite',
      RUNLEDGER_VIEWS_FILE: ':memory:',
    });
    const before = await tails();
    const asked = call(`${stopped.api}/run/${run_id}?wait=60`, bed.tenant.key);
    await waitFor('the request to wait', async () => (await tails()) > before);
    stopped.kill('SIGTERM');
    expect((await asked).body.status).toBe('queued');
    expect(await stopped.exit()).toBe(0);
  });
});

describe('a GET with If-None-Match', () => {
  const known = (tag: string) => ({ headers: { 'if-none-match': tag } });

  it('gets a 304 until the run changes', async () => {
    const run = ownRun();
    await appendAll(bed.log, queued(run));
    const first = await read(run.run_id);
    const tag = String(first.headers.get('etag'));
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    for (const sent of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const { status, body, headers } = await read(run.run_id, '', bed.tenant.key, known(sent));
      expect([sent, status, body, headers.get('etag')]).toEqual([sent, 304, '', tag]);
    }
    expect((await read(run.run_id, '', bed.tenant.key, known('"other"'))).status).toBe(200);
    await appendAll(bed.log, assigned(run));
    const changed = await read(run.run_id, '', bed.tenant.key, known(tag));
    expect([changed.status, changed.body.status]).toEqual([200, 'started']);
    expect(changed.headers.get('etag')).not.toBe(tag);
  });

  it('gets a 304 for lists too, and never for secrets', async () => {
    const machines = `${gateway.api}/machines`;
    const tag = String((await call(machines, bed.tenant.key)).headers.get('etag'));
    expect((await call(machines, bed.tenant.key, known(tag))).status).toBe(304);
    const admin = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
    const secret = await call(`${gateway.api}/webhooks/secret`, admin);
    expect([secret.headers.get('etag'), secret.headers.get('cache-control')]).toEqual([null, 'no-store']);
  });
});
