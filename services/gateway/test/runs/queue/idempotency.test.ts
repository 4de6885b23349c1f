import { newUuid, orgId } from '@runledger/contracts/ids';
import { assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { DEFAULT_OPTIONS } from '../../../src/runs/facts/request-bounds.decide.ts';
import { runIdentity } from '../../../src/runs/facts/accept-run.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { unavailableViews } from '../../fixtures/views/mongo-views.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import type { Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { forgetAll } from '../../fixtures/runs/forgotten-log.ts';
import { factsOf, queueKeyed, queueSample, runIn } from '../../fixtures/runs/queued-runs.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { aView, folded } from '../../fixtures/runs/folded-runs.ts';
import { open } from '../../fixtures/requests/raw-request.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let first: TestGateway;
let second: TestGateway;
let tenant: Tenant;
beforeAll(async () => {
  bed = await openTestBed();
  [first, second] = [await bed.gateway(), await bed.gateway()];
});
afterAll(() => bed[Symbol.asyncDispose]());
beforeEach(async () => {
  tenant = await bed.newTenant();
});

const queuedBy = async ({ metrics }: TestGateway): Promise<number> =>
  Number(/^runledger_gateway_runs_queued_total\S* (\d+)$/m.exec(await metrics.metrics())?.[1]);

describe('an idempotency key', () => {
  it('queues one run for 50 equal requests at once, at two gateways', async () => {
    const before = (await queuedBy(first)) + (await queuedBy(second));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => queueKeyed(i % 2 === 0 ? first : second, tenant, 'order-17')),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.run_id)).size).toBe(1);
    expect(await factsOf(bed, tenant)).toBe(1);
    expect((await queuedBy(first)) + (await queuedBy(second))).toBe(before + 1);
  });

  it('finds the run of a request whose response was lost', async () => {
    const text = JSON.stringify({ deployment_id: tenant.deployment.id });
    const path = new URL(`${first.api}/run/deployment/queue`).pathname;
    const socket = open(first.url);
    // Nobody reads what comes back.
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant.key}\r\nIdempotency-Key: lost\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
    );
    await waitFor('the run to be stored', async () => (await factsOf(bed, tenant)) === 1);
    socket.destroy();
    const run = runIn(tenant, await queueKeyed(first, tenant, 'lost'));
    expect(await factsOf(bed, tenant)).toBe(1);
    expect((await call(`${second.api}/run/${run.run_id}`, tenant.key)).body.status).toBe('queued');
  });

  it('identifies equal requests, also when they are written differently', async () => {
    const { deployment } = tenant;
    const run = runIn(
      tenant,
      await queueKeyed(first, tenant, 'k', { inputs: { a: 1, b: [{ c: 2, d: 3 }] } }),
    );
    for (const fields of [
      { inputs: { b: [{ d: 3, c: 2.0 }], a: 1 }, gpu: null },
      {
        deployment_id: deployment.id.toUpperCase(),
        inputs: { a: 1, b: [{ c: 2, d: 3 }] },
        webhook: null,
        webhook_intermediate_status: false,
        unknown: 'ignored',
      },
    ]) {
      expect(runIn(tenant, await queueKeyed(second, tenant, 'k', fields))).toEqual(run);
    }
  });

  it.each([
    ['other inputs', { inputs: { a: 2 } }],
    ['no inputs', {}],
    ['another order in a list', { inputs: { a: 1, list: [2, 1] } }],
    ['a GPU', { inputs: { a: 1, list: [1, 2] }, gpu: 'A10G' }],
    ['a webhook', { inputs: { a: 1, list: [1, 2] }, webhook: 'https://8.8.4.4/' }],
    ['intermediate status', { inputs: { a: 1, list: [1, 2] }, webhook_intermediate_status: true }],
    ['a deployment that there is not', { inputs: { a: 1, list: [1, 2] }, deployment_id: newUuid() }],
  ])('is refused with %s', async (_what, other) => {
    runIn(tenant, await queueKeyed(first, tenant, 'k', { inputs: { a: 1, list: [1, 2] } }));
    const { status, body } = await queueKeyed(second, tenant, 'k', other);
    expect([status, body]).toEqual([
      409,
      aRefusal('idempotency_key_reused', expect.stringContaining('another request')),
    ]);
    expect(await factsOf(bed, tenant)).toBe(1);
  });

  it('accepts one of two different concurrent requests, and refuses the other', async () => {
    const answers = await Promise.all(
      [first, second].map((gateway, i) => queueKeyed(gateway, tenant, 'k', { inputs: { i } })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
    expect(await factsOf(bed, tenant)).toBe(1);
  });

  it('is separate for each organisation', async () => {
    const other = await bed.newTenant();
    const [mine, theirs] = [
      runIn(tenant, await queueKeyed(first, tenant, 'k')),
      runIn(other, await queueKeyed(first, other, 'k')),
    ];
    expect(mine.run_id).not.toBe(theirs.run_id);
    expect((await call(`${first.api}/run/${theirs.run_id}`, tenant.key)).status).toBe(404);
  });

  it('finds its run in any state, also after the deployment was archived', async () => {
    const run = runIn(tenant, await queueKeyed(first, tenant, 'k'));
    await appendAll(bed.log, assigned(run), started(run), succeeded(run));
    await catalogue(bed.log).deployments.put({ ...tenant.deployment, archived: true });
    expect(runIn(tenant, await queueKeyed(second, tenant, 'k'))).toEqual(run);
    expect((await queueKeyed(second, tenant, 'new')).status).toBe(404);
    expect(await factsOf(bed, tenant)).toBe(4);
  });

  it('finds its run also when the policy now forbids its webhook', async () => {
    const fields = { webhook: 'https://moved.example/' };
    bed.dns.set('moved.example', ['8.8.4.4']);
    const run = runIn(tenant, await queueKeyed(first, tenant, 'k', fields));
    bed.dns.set('moved.example', ['10.0.0.1']);
    const gateway = await bed.gateway();
    expect((await queueKeyed(gateway, tenant, 'new', fields)).status).toBe(422);
    expect(runIn(tenant, await queueKeyed(gateway, tenant, 'k', fields))).toEqual(run);
  });

  it('finds its run also while the queue of the organisation is full', async () => {
    const gateway = await bed.gateway({ projecting: true, environment: { RUNLEDGER_QUEUE_MAX: '1' } });
    const run = runIn(tenant, await queueKeyed(gateway, tenant, 'k'));
    const full = await queueKeyed(gateway, tenant, 'new');
    expect([full.status, full.headers.get('retry-after')]).toEqual([429, '5']);
    expect(full.body.detail).toContain('nothing was queued');
    expect(await gateway.metrics.metrics()).toMatch(/runs_not_queued_total\{why="queue_full",.*\} 1/);
    expect(runIn(tenant, await queueKeyed(gateway, tenant, 'k'))).toEqual(run);
    expect(await factsOf(bed, tenant)).toBe(1);
  });

  it('queues one run for equal concurrent requests also when the queue has room for just one', async () => {
    const gateway = await bed.gateway({ projecting: true, environment: { RUNLEDGER_QUEUE_MAX: '1' } });
    const answers = await Promise.all(Array.from({ length: 10 }, () => queueKeyed(gateway, tenant, 'k')));
    expect(new Set(answers.map((answer) => runIn(tenant, answer).run_id)).size).toBe(1);
    expect(await factsOf(bed, tenant)).toBe(1);
  });

  it('allows a refused request to be sent again', async () => {
    const unknown = { deployment_id: newUuid() };
    expect((await queueKeyed(first, tenant, 'k', unknown)).status).toBe(404);
    expect((await queueKeyed(first, tenant, 'k')).status).toBe(200);
  });

  it.each([
    ['empty', ''],
    ['256 characters', 'k'.repeat(256)],
    ['a control character', 'a\tb'],
    ['a character that is not ASCII', 'schlüssel'],
  ])('is refused when it is invalid: %s', async (_what, key) => {
    const { status, body } = await queueKeyed(first, tenant, key);
    expect([status, body.detail]).toMatchObject([422, [{ loc: ['header', 'Idempotency-Key'] }]]);
    expect(await factsOf(bed, tenant)).toBe(0);
  });

  it('may have 255 printable characters', async () => {
    const key = Array.from({ length: 255 }, (_, i) => String.fromCharCode(0x21 + (i % 94))).join('');
    const run = runIn(tenant, await queueKeyed(first, tenant, key));
    expect(runIn(tenant, await queueKeyed(second, tenant, key))).toEqual(run);
  });

  it('is optional: without one every request queues a run', async () => {
    const runs = [await queueSample(first, tenant), await queueSample(first, tenant)];
    expect(new Set(runs.map(({ run_id }) => run_id)).size).toBe(2);
  });
});

/** The run of the key `k`, as the views may have it when the log does not. */
const identityOf = ({ org_id, deployment }: Tenant) => {
  const request = {
    deployment_id: deployment.id,
    inputs: {},
    webhook: null,
    webhook_intermediate_status: false,
    gpu: null,
    ...DEFAULT_OPTIONS,
  };
  const identity = runIdentity(orgId(org_id), 'k', { kind: 'queue', request });
  if (identity.kind !== 'of_key') throw new Error('a key makes an id');
  const { run_id, request_sha256 } = identity;
  return { run: { org_id: orgId(org_id), run_id }, idempotency: { request_sha256 } };
};

describe('an idempotency key whose run has expired from the log', () => {
  it('finds it in the views', async () => {
    const { run, idempotency } = identityOf(tenant);
    const views = sqliteViews();
    await views.save([aView(900_000, folded(queued(run, { idempotency }), assigned(run), started(run)))]);
    const gateway = await bed.gateway({ views });
    expect(runIn(tenant, await queueKeyed(gateway, tenant, 'k'))).toEqual(run);
    expect((await queueKeyed(gateway, tenant, 'k', { inputs: { a: 1 } })).status).toBe(409);
    expect(await factsOf(bed, tenant)).toBe(0);
  });

  it('queues one run while the views are unavailable, if no event has expired from the log', async () => {
    await using unavailable = unavailableViews();
    const gateway = await bed.gateway({ views: unavailable });
    const run = runIn(tenant, await queueKeyed(gateway, tenant, 'k'));
    expect(runIn(tenant, await queueKeyed(gateway, tenant, 'k'))).toEqual(run);
    expect(await factsOf(bed, tenant)).toBe(1);
  });

  it('queues nothing while the views are unavailable and the run may have expired from the log', async () => {
    await using old = await openTestBed();
    await using unavailable = unavailableViews();
    await queueSample(await old.gateway(), old.tenant);
    await forgetAll(old.log);
    const gateway = await old.gateway({ views: unavailable });
    const { status, headers, body } = await queueKeyed(gateway, old.tenant, 'k');
    expect([status, headers.get('retry-after')]).toEqual([503, '2']);
    expect(body.detail).toContain('Nothing was queued');
    expect(await factsOf(old, old.tenant)).toBe(0);
  });

  it('needs no views for a run that the log has', async () => {
    await using unavailable = unavailableViews();
    const gateway = await bed.gateway({ views: unavailable });
    const run = runIn(tenant, await queueKeyed(first, tenant, 'k'));
    expect(runIn(tenant, await queueKeyed(gateway, tenant, 'k'))).toEqual(run);
  });
});

describe('a run that was not queued with a key', () => {
  it('makes the key of its id a conflict', async () => {
    await appendAll(bed.log, queued(identityOf(tenant).run));
    expect((await queueKeyed(first, tenant, 'k')).status).toBe(409);
  });
});
