import { once } from 'node:events';
import { request, type ClientRequest } from 'node:http';
import { failed, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { anAttemptOf, numbered, upload, uploadUrl, type Attempt } from '../../runs/attempts/an-upload.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { openEventSource } from '../../runs/subscribe/an-event-source.ts';

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
      RUNLEDGER_QUOTA_WORKFLOW_BYTES: '3000',
      RUNLEDGER_QUOTA_BLOB_BYTES: '25000',
      RUNLEDGER_QUOTA_STREAMS: '2',
      RUNLEDGER_QUOTA_OUTPUT_BYTES: String(100 * 1024),
      RUNLEDGER_OUTPUT_RUN_MAX_BYTES: String(100 * 1024),
      RUNLEDGER_QUOTA_UPLOADS: '1',
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
      body: { detail: expect.stringContaining('limit of queued runs'), code: 'queue_full' },
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
        body: {
          detail: expect.stringContaining('RUNLEDGER_QUOTA_CATALOGUE_RECORDS'),
          code: 'quota_reached',
        },
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
      body: { detail: expect.stringContaining('limit of open streams'), code: 'too_many_streams' },
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

describe('an organisation at its quota of workflow bytes', () => {
  const admin = async (tenant: Tenant, path: string, body: object): Promise<ApiAnswer> =>
    post(`${gateway.api}${path}`, await aKey(bed.log, tenant, { scopes: ['admin'] }), body);
  const publisher = async (tenant: Tenant) => {
    const { body } = await admin(tenant, '/workflows', { name: 'a' });
    return (kind: string) => admin(tenant, `/workflows/${body.id}/versions`, { workflow: { kind } });
  };

  it('is refused another workflow, has equal ones once, and another organisation is not refused', async () => {
    const [mine, another] = [await bed.newTenant(), await bed.newTenant()];
    const publish = await publisher(mine);
    const before = (await usageOf(mine)).workflow_bytes.used;
    expect((await publish('a'.repeat(1_400))).status).toBe(201);
    const { used, limit } = (await usageOf(mine)).workflow_bytes;
    expect([used - before, limit]).toEqual([1_400 + '{"kind":""}[]'.length, 3_000]);
    expect((await publish('a'.repeat(1_400))).status).toBe(201);
    expect((await usageOf(mine)).workflow_bytes.used).toBe(used + '[]'.length);
    const refused = await publish('b'.repeat(1_600));
    expect([refused.status, refused.body.detail]).toEqual([
      429,
      expect.stringContaining('RUNLEDGER_QUOTA_WORKFLOW_BYTES'),
    ]);
    expect((await (await publisher(another))('b'.repeat(1_600))).status).toBe(201);
  });
});

describe('an organisation at its quota of blob bytes', () => {
  const inputsOf = (letter: string) => ({ prompt: letter.repeat(10_000 - '{"prompt":""}'.length) });
  const queue = ({ key, deployment }: Tenant, letter: string): Promise<ApiAnswer> =>
    post(`${gateway.api}/run/deployment/queue`, key, {
      deployment_id: deployment.id,
      inputs: inputsOf(letter),
    });
  const cancel = async (tenant: Tenant, { body }: ApiAnswer): Promise<unknown> =>
    post(`${gateway.api}/run/${body.run_id}/cancel`, tenant.key);

  it('has equal inputs once, is refused others, and another organisation is not refused', async () => {
    const [mine, another] = [await bed.newTenant(), await bed.newTenant()];
    const runs: ApiAnswer[] = [];
    for (const letter of ['a', 'b', 'b', 'a']) {
      const accepted = await queue(mine, letter);
      expect(accepted.status).toBe(200);
      runs.push(accepted);
      await cancel(mine, accepted);
    }
    expect((await usageOf(mine)).blob_bytes).toEqual({ used: 20_000, limit: 25_000, unit: 'bytes' });
    const refused = await queue(mine, 'c');
    expect([refused.status, refused.body.detail]).toEqual([
      429,
      expect.stringContaining('RUNLEDGER_QUOTA_BLOB_BYTES'),
    ]);
    const again = await post(`${gateway.api}/run/${runs[0]?.body.run_id}/rerun`, mine.key);
    expect(again.status).toBe(200);
    await cancel(mine, again);
    const other = { inputs: inputsOf('d') };
    expect((await post(`${gateway.api}/run/${runs[0]?.body.run_id}/rerun`, mine.key, other)).status).toBe(
      429,
    );
    expect((await queue(another, 'c')).status).toBe(200);
    expect((await usageOf(another)).blob_bytes.used).toBe(10_000);
    expect(await refusalsOf('blob_bytes')).toBe('2 requests, organisations 1');
  });

  it('is refused a list of outputs, which ends the attempt', async () => {
    const mine = await bed.newTenant();
    const accepted = await queue(mine, 'a');
    await cancel(mine, accepted);
    const attempt = await anAttemptOf(bed, await queueSample(gateway, mine), 10);
    const list = [{ ...anOutput, data: { text: Array.from({ length: 4 }, () => 'x'.repeat(4_000)) } }];
    const url = `${gateway.url}/executions/${mine.org_id}/${attempt.run.run_id}/1/output-list`;
    const put = (body: unknown) =>
      call(url, attempt.token, {
        method: 'PUT',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      });
    expect(await put(list)).toMatchObject({
      status: 507,
      body: { detail: expect.stringContaining('RUNLEDGER_QUOTA_BLOB_BYTES') },
    });
    expect((await put([{ ...anOutput, data: { text: ['x'.repeat(4_000)] } }])).status).toBe(201);
  });
});

describe('an organisation at its quota of output bytes', () => {
  const KiB = 1024;
  const uploadFor = async (tenant: Tenant, announced: number, sent = announced) => {
    const run = await queueSample(gateway, tenant);
    const attempt = await anAttemptOf(bed, run, announced);
    return { attempt, answer: await upload(gateway, attempt, numbered(sent)) };
  };

  it('is refused an upload beyond it, and another organisation is not', async () => {
    const [mine, another] = [await bed.newTenant(), await bed.newTenant()];
    const { attempt, answer } = await uploadFor(mine, 80 * KiB);
    expect(answer.status).toBe(201);
    await appendAll(bed.log, succeeded(attempt.run, [{ ...anOutput, data: { images: [answer.body] } }]));
    const over = await uploadFor(mine, 30 * KiB);
    expect(over.answer).toMatchObject({
      status: 507,
      body: { detail: expect.stringContaining('quota of 102400 bytes'), code: 'storage_quota_reached' },
    });
    expect((await uploadFor(another, 80 * KiB)).answer.status).toBe(201);
    expect((await usageOf(mine)).output_bytes).toEqual({ used: 110 * KiB, limit: 100 * KiB, unit: 'bytes' });
    await appendAll(bed.log, failed(over.attempt.run, 'storage_full'));
    expect((await usageOf(mine)).output_bytes.used).toBe(80 * KiB);
    expect((await uploadFor(mine, 20 * KiB)).answer.status).toBe(201);
    expect((await usageOf(another)).output_bytes.used).toBe(80 * KiB);
    expect(await refusalsOf('output_bytes')).toBe('1 requests, organisations 1');
  });
});

describe('an organisation at its quota of uploads', () => {
  const begunUpload = (attempt: Attempt, bytes: number): ClientRequest =>
    request(uploadUrl(gateway, attempt), {
      method: 'PUT',
      headers: { authorization: `Bearer ${attempt.token}`, 'content-length': bytes },
    });

  it('waits until one of its uploads has ended, and another organisation does not wait', async () => {
    const [mine, another] = [await bed.newTenant(), await bed.newTenant()];
    const attemptOf = async (tenant: Tenant) => anAttemptOf(bed, await queueSample(gateway, tenant), 20);
    const [slow, next] = [await attemptOf(mine), await attemptOf(mine)];
    const bytes = numbered(20);
    const uploading = begunUpload(slow, bytes.byteLength);
    uploading.write(bytes.subarray(0, 10));
    await waitFor('the upload to begin', async () => (await usageOf(mine)).uploads.used === 1);
    const refused = await upload(gateway, next, numbered(20));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    expect(refused.body.detail).toContain('RUNLEDGER_QUOTA_UPLOADS');
    expect(refused.body.code).toBe('attempt_uploads_limited');
    const ofClient = await call(`${gateway.api}/files`, mine.key, { method: 'POST', body: numbered(20) });
    expect([ofClient.status, ofClient.body.code]).toEqual([429, 'too_many_uploads']);
    const other = await attemptOf(another);
    expect((await upload(gateway, other, numbered(20))).status).toBe(201);
    uploading.end(bytes.subarray(10));
    const [response] = await once(uploading, 'response');
    expect(response.statusCode).toBe(201);
    await waitFor('the upload to be over', async () => (await usageOf(mine)).uploads.used === 0);
    expect((await upload(gateway, next, numbered(20))).status).toBe(201);
    expect((await usageOf(mine)).uploads).toEqual({ used: 0, limit: 1, unit: 'uploads' });
  });
});
