import { blobSubject } from '@runledger/contracts/blobs';
import { newUuid } from '@runledger/contracts/ids';
import { MAX_FIRST_FACT_BYTES, MAX_INLINE_BYTES, MAX_RUNNER_URL } from '@runledger/contracts/limits';
import { lifecycleFilter, type RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { factsOf, queueKeyed, queueSample, runIn } from '../../fixtures/runs/queued-runs.ts';
import { call, post } from '../../fixtures/requests/requests.ts';

let bed: TestBed;
let gateway: TestGateway;
let tenant: Tenant;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ projecting: true });
});
afterAll(() => bed[Symbol.asyncDispose]());
beforeEach(async () => {
  tenant = await bed.newTenant();
});

/** Inputs with this many bytes as JSON, that no other test has. */
const inputsOf = (bytes: number) => {
  const inputs = { id: newUuid(), prompt: '' };
  return { ...inputs, prompt: 'x'.repeat(bytes - JSON.stringify(inputs).length) };
};
const requestOf = async (key: RunKey, { log } = bed) => {
  const read = await readRun(log, key);
  if (read.kind !== 'found') throw new Error('the run is not in the log');
  return read.run.request;
};
const bytesOfFact = async (key: RunKey): Promise<number> => {
  const message = await bed.log.jsm.streams.getMessage('RUNS', { last_by_subj: lifecycleFilter(key) });
  return message?.data.byteLength ?? 0;
};
const blobsOf = async ({ org_id }: Tenant, { log } = bed): Promise<number> => {
  const { state } = await log.jsm.streams.info('BLOBS', { subjects_filter: `blobs.${org_id}.*` });
  return Object.keys(state.subjects ?? {}).length;
};
const show = async ({ run_id }: RunKey, query = '?include=inputs', key = tenant.key) =>
  (await call(`${gateway.api}/run/${run_id}${query}`, key)).body;
const rerun = ({ run_id }: RunKey, body?: object) =>
  post(`${gateway.api}/run/${run_id}/rerun`, tenant.key, body);
const blobOf = async (key: RunKey) => {
  const { inputs_blob } = await requestOf(key);
  if (!inputs_blob) throw new Error('its inputs are no blob');
  return inputs_blob;
};
const lose = async (key: RunKey): Promise<void> => {
  const { sha256 } = await blobOf(key);
  await bed.log.jsm.streams.purge('BLOBS', { filter: blobSubject('BLOBS', key.org_id, sha256) });
};

describe('inputs of a run', () => {
  it('of at most 4 KiB are in its first fact', async () => {
    const inputs = inputsOf(MAX_INLINE_BYTES);
    const run = await queueSample(gateway, tenant, { inputs });
    expect(await requestOf(run)).toMatchObject({ inputs, inputs_blob: null });
    expect(await show(run)).toMatchObject({ workflow_inputs: inputs, missing_members: [] });
    expect(await blobsOf(tenant)).toBe(0);
  });

  it.each([MAX_INLINE_BYTES + 1, 100_000, 256 * 1024])('of %i bytes are a blob', async (bytes) => {
    const inputs = inputsOf(bytes);
    const run = await queueSample(gateway, tenant, { inputs });
    expect(await requestOf(run)).toMatchObject({
      inputs: null,
      inputs_blob: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/), bytes },
    });
    expect(await bytesOfFact(run)).toBeLessThan(2_000);
    expect(await show(run)).toMatchObject({ workflow_inputs: inputs, missing_members: [] });
    expect(await show(run, '')).toMatchObject({ workflow_inputs: null, missing_members: [] });
  });

  it.each([20, 500, MAX_INLINE_BYTES])(
    'of %i bytes never make its first fact larger than 8 KiB, beside the longest texts that the API accepts',
    async (bytes) => {
      await catalogue(bed.log).machines.put({
        ...tenant.machine,
        name: '😀'.repeat(128),
        type: '\u0001'.repeat(128),
        runner: { kind: 'comfyui', url: 'https://comfy.example/'.padEnd(MAX_RUNNER_URL, 'x') },
      });
      const webhook = `https://93.184.215.14/${'語'.repeat(600)}`.padEnd(848, 'x');
      const inputs = { prompt: 'x'.repeat(bytes) };
      const run = runIn(tenant, await queueKeyed(gateway, tenant, newUuid(), { webhook, inputs }));
      expect(await bytesOfFact(run)).toBeLessThanOrEqual(MAX_FIRST_FACT_BYTES);
      const admin = await aKey(bed.log, tenant, { scopes: ['admin'] });
      expect(await show(run, '?include=inputs', admin)).toMatchObject({ workflow_inputs: inputs, webhook });
    },
  );

  it('that are equal are stored once, and for each organisation', async () => {
    const inputs = inputsOf(10_000);
    for (let runs = 0; runs < 3; runs += 1) await queueSample(gateway, tenant, { inputs });
    expect(await blobsOf(tenant)).toBe(1);
    const other = await bed.newTenant();
    await queueSample(gateway, other, { inputs });
    expect(await blobsOf(other)).toBe(1);
  });

  it('that are large do not change what an idempotency key means', async () => {
    const inputs = inputsOf(10_000);
    const key = newUuid();
    const first = await queueKeyed(gateway, tenant, key, { inputs });
    expect((await queueKeyed(gateway, tenant, key, { inputs })).body).toEqual(first.body);
    expect((await queueKeyed(gateway, tenant, key, { inputs: inputsOf(10_000) })).status).toBe(409);
    expect(await factsOf(bed, tenant)).toBe(1);
    expect(await blobsOf(tenant)).toBe(1);
  });
});

describe('a rerun of a run with large inputs', () => {
  it('refers to the same blob', async () => {
    const inputs = inputsOf(10_000);
    const origin = await queueSample(gateway, tenant, { inputs });
    const again = runIn(tenant, await rerun(origin));
    expect(await blobOf(again)).toEqual(await blobOf(origin));
    expect(await show(again)).toMatchObject({ workflow_inputs: inputs, rerun_of: origin.run_id });
    expect(await blobsOf(tenant)).toBe(1);
  });

  it('needs inputs when those of its origin are gone', async () => {
    const origin = await queueSample(gateway, tenant, { inputs: inputsOf(10_000) });
    await lose(origin);
    await useAnotherGateway();
    const refused = await rerun(origin);
    expect([refused.status, refused.body]).toMatchObject([
      409,
      { detail: expect.stringMatching(/^The inputs of this run/), code: 'inputs_gone' },
    ]);
    expect(await factsOf(bed, tenant)).toBe(1);
    const inputs = inputsOf(10_000);
    expect(await show(runIn(tenant, await rerun(origin, { inputs })))).toMatchObject({
      workflow_inputs: inputs,
    });
  });

  it('needs inputs when those of its origin are damaged', async () => {
    const origin = await queueSample(gateway, tenant, { inputs: inputsOf(10_000) });
    const { sha256 } = await blobOf(origin);
    await bed.log.js.publish(blobSubject('BLOBS', tenant.org_id, sha256), '{}');
    await useAnotherGateway();
    expect((await rerun(origin)).status).toBe(409);
  });
});

/** The one that has just stored a blob does not look for it again at once. */
const useAnotherGateway = async (): Promise<void> => {
  gateway = await bed.gateway({ projecting: true });
};

describe('inputs that are lost', () => {
  it.each(['gone', 'damaged'] as const)('are null, and the run says that they are %s', async (reason) => {
    const run = await queueSample(gateway, tenant, { inputs: inputsOf(10_000) });
    const { sha256 } = await blobOf(run);
    if (reason === 'gone') await lose(run);
    else await bed.log.js.publish(blobSubject('BLOBS', tenant.org_id, sha256), '{}');
    const missing_members = [{ member: 'workflow_inputs', reason }];
    expect(await show(run)).toMatchObject({ workflow_inputs: null, missing_members });
    expect(await show(run, '')).toMatchObject({ missing_members: [] });
    const { body } = await call(`${gateway.api}/runs?include=inputs`, tenant.key);
    expect(body.runs).toMatchObject([{ id: run.run_id, workflow_inputs: null, missing_members }]);
  });
});

describe('a list of runs with large inputs', () => {
  it('has shorter pages that skip no run', async () => {
    const inputs = Array.from({ length: 40 }, () => inputsOf(256 * 1024));
    await Promise.all(inputs.map((one) => queueSample(gateway, tenant, { inputs: one })));
    const url = `${gateway.api}/runs?include=inputs&limit=100`;
    const first = await call(url, tenant.key);
    expect(first.body.runs).toHaveLength(32);
    const second = await call(`${url}&cursor=${first.body.next_cursor}`, tenant.key);
    expect(second.body.runs).toHaveLength(8);
    const ids = [...first.body.runs, ...second.body.runs].map(({ workflow_inputs }) => workflow_inputs.id);
    expect(new Set(ids)).toEqual(new Set(inputs.map(({ id }) => id)));
  });
});

describe('a full store of inputs', () => {
  it('is named in a refusal, and runs with small inputs are queued', async () => {
    await using small = await openTestBed({ blobsMaxBytes: 50_000 });
    const at = await small.gateway();
    const url = `${at.api}/run/deployment/queue`;
    const { key, deployment } = small.tenant;
    const queue = (inputs: object) => post(url, key, { deployment_id: deployment.id, inputs });
    const large = inputsOf(40_000);
    expect((await queue(large)).status).toBe(200);
    const refused = await queue(inputsOf(40_000));
    expect([refused.status, refused.body]).toMatchObject([
      507,
      { detail: expect.stringMatching(/blobsMaxBytes/), code: 'blob_store_full' },
    ]);
    expect(await factsOf(small, small.tenant)).toBe(1);
    expect((await queue(large)).status).toBe(200);
    expect((await queue({ seed: 1 })).status).toBe(200);
    expect(await at.metrics.metrics()).toMatch(/runs_not_queued_total\{why="inputs_store_full",.*\} 1/);
  });
});
