import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../fixtures/gateway/a-gateway.ts';
import { aKey, type Tenant } from '../fixtures/gateway/a-tenant.ts';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { call, post, type ApiAnswer } from '../fixtures/requests/requests.ts';
import { queueSample } from '../fixtures/runs/queued-runs.ts';
import { openEventSource } from '../runs/subscribe/an-event-source.ts';

/** A new tenant has a machine, a version and a deployment. */
const RECORDS_OF_A_TENANT = 3;

let bed: TestBed;
let gateway: TestGateway;
let full: Tenant;
let other: Tenant;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({
    projecting: true,
    environment: {
      RUNLEDGER_QUEUE_MAX: '2',
      RUNLEDGER_QUOTA_CATALOGUE_RECORDS: String(RECORDS_OF_A_TENANT + 4),
      RUNLEDGER_QUOTA_STREAMS: '2',
    },
  });
  [full, other] = [await bed.newTenant(), await bed.newTenant()];
});
afterAll(() => bed[Symbol.asyncDispose]());

const usageOf = async ({ key }: Tenant): Promise<ApiAnswer['body']> =>
  (await call(`${gateway.api}/usage`, key)).body;

const refusalsOf = async (resource: string): Promise<string> => {
  const metrics = await gateway.metrics.metrics();
  const values = ['quota_refusals_total', 'organisations_at_quota'].map(
    (name) =>
      new RegExp(`runledger_gateway_${name}\\{resource="${resource}",[^}]*\\} (\\d+)`).exec(metrics)?.[1],
  );
  return values.join(' requests, organisations ');
};

describe('an organisation at its quota of queued runs', () => {
  const queue = ({ key, deployment }: Tenant): Promise<ApiAnswer> =>
    post(`${gateway.api}/run/deployment/queue`, key, { deployment_id: deployment.id });

  it('is refused a further run, and another organisation is not', async () => {
    for (let run = 0; run < 2; run += 1) await queueSample(gateway, full);
    expect(await queue(full)).toMatchObject({
      status: 429,
      body: { detail: expect.stringContaining('limit of queued runs') },
    });
    expect((await queue(other)).status).toBe(200);
    expect((await usageOf(full)).queued_runs).toEqual({ used: 2, limit: 2, unit: 'runs' });
    expect((await usageOf(other)).queued_runs).toEqual({ used: 1, limit: 2, unit: 'runs' });
    expect(await refusalsOf('queued_runs')).toBe('1 requests, organisations 1');
  });
});

describe('an organisation at its quota of catalogue records', () => {
  const create = async (tenant: Tenant, path: string, body: object): Promise<ApiAnswer> =>
    post(`${gateway.api}${path}`, await aKey(bed.log, tenant, { scopes: ['admin'] }), body);

  it('is refused a further record of any kind, and another organisation is not', async () => {
    const workflow = await create(full, '/workflows', { name: 'a' });
    expect(workflow.status).toBe(201);
    const versions = `/workflows/${workflow.body.id}/versions`;
    const machine = { name: 'a', gpu: 'A100', runner: { kind: 'program', program: 'a' } };
    const version = { workflow: { kind: 'fractal' } };
    expect((await create(full, '/machines', machine)).status).toBe(201);
    // At once: only one of them is the last.
    const created = await Promise.all([1, 2, 3, 4].map(() => create(full, versions, version)));
    expect(created.filter(({ status }) => status === 429)).toHaveLength(2);
    for (const [path, body] of [
      ['/workflows', { name: 'b' }],
      ['/machines', machine],
      [versions, version],
      ['/deployments', deploymentLike(full)],
    ] as const) {
      expect(await create(full, path, body)).toMatchObject({
        status: 429,
        body: { detail: expect.stringContaining('RUNLEDGER_QUOTA_CATALOGUE_RECORDS') },
      });
    }
    expect((await create(other, '/machines', machine)).status).toBe(201);
    expect((await usageOf(full)).catalogue_records).toEqual({ used: 7, limit: 7, unit: 'records' });
    expect((await usageOf(other)).catalogue_records).toEqual({ used: 4, limit: 7, unit: 'records' });
    expect(await refusalsOf('catalogue_records')).toBe('6 requests, organisations 1');
  });

  const deploymentLike = ({ deployment }: Tenant): object => {
    const { machine_id, workflow_version_id, name, environment } = deployment;
    return { machine_id, workflow_version_id, name, environment };
  };
});

describe('an organisation at its quota of streams', () => {
  it('is refused a further stream and waits no longer, and another organisation is not', async () => {
    await using open = new AsyncDisposableStack();
    const queued = async (tenant: Tenant): Promise<[Tenant, RunKey]> => [
      tenant,
      await queueSample(gateway, tenant),
    ];
    const [mine, run] = await queued(await bed.newTenant());
    const [another, otherRun] = await queued(await bed.newTenant());
    for (let stream = 0; stream < 2; stream += 1) {
      open.use(await openEventSource(gateway.eventsOf(run), mine.key));
    }
    expect(await call(gateway.eventsOf(run), mine.key)).toMatchObject({
      status: 429,
      body: { detail: expect.stringContaining('limit of open streams') },
    });
    const began = performance.now();
    expect((await call(`${gateway.api}/run/${run.run_id}?wait=30`, mine.key)).status).toBe(200);
    expect(performance.now() - began).toBeLessThan(15_000);
    expect(open.use(await openEventSource(gateway.eventsOf(otherRun), another.key)).status).toBe(200);
    expect((await usageOf(mine)).streams).toEqual({ used: 2, limit: 2, unit: 'streams' });
    expect((await usageOf(another)).streams).toEqual({ used: 1, limit: 2, unit: 'streams' });
    expect(await refusalsOf('streams')).toBe('2 requests, organisations 1');
  });
});
