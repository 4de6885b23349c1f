import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Objm } from '@nats-io/obj';
import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import { orgId } from '@runledger/contracts/ids';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { assigned } from '@runledger/testing/run-events';
import { testBucket } from '@runledger/testing/servers/s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readGatewayConfig } from '../../src/config.ts';
import { eraseModelsOf, modelRecords, sweepModels } from '../../src/files/models.ts';
import { openModelStore } from '../../src/files/output-stores.ts';
import { removeIncomplete } from '../../src/files/stores/jetstream-output-store.ts';
import { catalogue } from '../../src/records/catalogue/catalogue.ts';
import { aKit } from '../fixtures/gateway/a-kit.ts';
import { aKey, aTenant } from '../fixtures/gateway/a-tenant.ts';
import type { TestGateway } from '../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { call, post, type ApiAnswer } from '../fixtures/requests/requests.ts';
import { appendAll } from '../fixtures/runs/appended-facts.ts';

const DAY_MS = 86_400_000;
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const JSON_TYPE = { 'content-type': 'application/json' };
const COMMAND = { command: ['./run.sh'] };
const archive = Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), randomBytes(100)]);

let bed: TestBed;
beforeAll(async () => {
  bed = await openTestBed();
});
afterAll(() => bed[Symbol.asyncDispose]());

/** A client of an organisation of its own. */
const aClient = async (gateway: TestGateway) => {
  const tenant = await aTenant(bed.log);
  const key = await aKey(bed.log, tenant, { scopes: ['admin'] });
  const upload = async (bytes: Uint8Array<ArrayBuffer>, of = key): Promise<string> =>
    (await call(`${gateway.api}/files?filename=unet`, of, { method: 'POST', body: bytes })).body.id;
  const keep = (sha256: string, file: string, of = key): Promise<ApiAnswer> =>
    call(`${gateway.api}/models/${sha256}`, of, {
      method: 'PUT',
      body: JSON.stringify({ file }),
      headers: JSON_TYPE,
    });
  const { body: workflow } = await post(`${gateway.api}/workflows`, key, { name: 'portrait' });
  const versions = `${gateway.api}/workflows/${workflow.id}/versions`;
  const publish = async (models: object): Promise<ApiAnswer> =>
    post(versions, key, {
      workflow: { code_sha256: sha256Of(archive), ...COMMAND, models },
      code: await upload(archive),
    });
  return {
    tenant,
    org_id: orgId(tenant.org_id),
    key,
    upload,
    keep,
    publish,
    versions,
    model: (sha256: string, of = key) => call(`${gateway.api}/models/${sha256}`, of),
    list: async () => (await call(`${gateway.api}/models`, key)).body.models,
  };
};

/** A run of the version, and what its attempt fetches. */
const attemptOf = async (
  gateway: TestGateway,
  { tenant, key }: Awaited<ReturnType<typeof aClient>>,
  workflow_version_id: string,
) => {
  const machine = { name: 'a', gpu: 'CPU', runner: { kind: 'code' } };
  const { body: made } = await post(`${gateway.api}/machines`, key, machine);
  const { body: deployment } = await post(`${gateway.api}/deployments`, key, {
    name: 'portrait',
    workflow_version_id,
    machine_id: made.id,
  });
  const { body: queued } = await post(`${gateway.api}/run/deployment/queue`, tenant.key, {
    deployment_id: deployment.id,
  });
  const run = { org_id: tenant.org_id, run_id: queued.run_id } as Parameters<typeof assigned>[0];
  const keys = await newAttemptKeys();
  await appendAll(bed.log, assigned(run, { publicKey: keys.publicKey }));
  const token = await signAttempt(keys, run, 1);
  return async (sha256: string, headers: Readonly<Record<string, string>> = {}) => {
    const url = `${gateway.url}/executions/${run.org_id}/${run.run_id}/1/models/${sha256}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}`, ...headers } });
    const bytes = Buffer.from(await response.arrayBuffer());
    const code: unknown = response.ok ? null : JSON.parse(bytes.toString()).code;
    return { status: response.status, bytes, code };
  };
};

describe.each(['jetstream', 'directory', 's3'] as const)('a model that is kept in %s', (technology) => {
  let gateway: TestGateway;
  let environment: Record<string, string>;
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'runledger-models-'));
    const own = { RUNLEDGER_OUTPUTS: technology, RUNLEDGER_OUTPUTS_DIRECTORY: root };
    environment = technology === 's3' ? { ...(await testBucket()).env } : own;
    gateway = await bed.gateway({ environment });
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  it('stays when its file is gone, and is fetched by attempts of versions that name it', async () => {
    const client = await aClient(gateway);
    const [named, other] = [Buffer.from(randomBytes(300_000)), Buffer.from(randomBytes(10))];
    const [sha256, another] = [sha256Of(named), sha256Of(other)];
    const file = await client.upload(named);
    expect((await client.model(sha256)).status).toBe(404);
    expect(await client.publish({ 'a.bin': { sha256, bytes: named.length } })).toMatchObject({
      status: 422,
      body: {
        detail: [
          {
            loc: ['body', 'workflow', 'models', 'a.bin'],
            msg: expect.stringContaining(`keeps no model with the SHA-256 ${sha256}`),
          },
        ],
      },
    });
    expect(await client.keep(sha256, file)).toMatchObject({
      status: 200,
      body: { sha256, bytes: named.length, versions: 0 },
    });
    expect((await client.keep(another, await client.upload(other))).status).toBe(200);
    const head = await fetch(`${gateway.api}/models/${sha256}`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${client.key}` },
    });
    expect([head.status, await head.text()]).toEqual([200, '']);
    await call(`${gateway.api}/files/${file}`, client.key, { method: 'DELETE' });
    const wrong = await client.publish({ 'a.bin': { sha256, bytes: 5 } });
    expect([wrong.status, wrong.body.detail[0].loc.at(-1)]).toEqual([422, 'bytes']);
    const made = await client.publish({ 'a.bin': { sha256, bytes: named.length } });
    expect([made.status, made.body.workflow.models]).toEqual([
      201,
      { 'a.bin': { sha256, bytes: named.length } },
    ]);
    expect(await client.list()).toMatchObject([
      { sha256: another, versions: 0 },
      { sha256, versions: 1 },
    ]);
    const fetchModel = await attemptOf(gateway, client, made.body.id);
    const whole = await fetchModel(sha256);
    expect([whole.status, whole.bytes.equals(named)]).toEqual([200, true]);
    const part = await fetchModel(sha256, { range: 'bytes=262100-' });
    expect([part.status, part.bytes.equals(named.subarray(262_100))]).toEqual([206, true]);
    expect((await fetchModel(another)).status).toBe(404);
    const kept = await modelRecords(bed.log).get(`models.${client.org_id}.${sha256}`);
    await using store = openModelStore(configOf(environment), parts());
    await store.remove(kept?.value.key ?? '');
    expect(await fetchModel(sha256)).toMatchObject({ status: 410, code: 'model_lost' });
    expect((await client.model(sha256)).status).toBe(404);
    expect((await client.keep(sha256, await client.upload(named))).status).toBe(200);
    expect((await fetchModel(sha256)).bytes.equals(named)).toBe(true);
    expect(await eraseModelsOf({ records: modelRecords(bed.log), store }, client.org_id)).toBe(2);
    expect(await client.list()).toEqual([]);
    expect(await store.find(kept?.value.key ?? '')).toBeUndefined();
  });

  it('is one of its organisation, and kept once by many requests at the same time', async () => {
    const [client, stranger] = [await aClient(gateway), await aClient(gateway)];
    const bytes = Buffer.from(randomBytes(1_000));
    const sha256 = sha256Of(bytes);
    const file = await client.upload(bytes);
    const kept = await Promise.all(Array.from({ length: 5 }, () => client.keep(sha256, file)));
    expect(kept.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const { value } = (await modelRecords(bed.log).get(`models.${client.org_id}.${sha256}`)) ?? {};
    expect(value).toMatchObject({ coming: [], key: expect.any(String) });
    expect((await stranger.model(sha256)).status).toBe(404);
    expect((await stranger.keep(sha256, file)).status).toBe(422);
    expect((await stranger.publish({ 'a.bin': { sha256, bytes: 1_000 } })).status).toBe(422);
    expect((await client.keep(sha256, file, client.tenant.key)).status).toBe(403);
    expect((await client.keep('a'.repeat(64), file)).status).toBe(422);
  });
});

const configOf = (environment: Record<string, string> = {}) =>
  readGatewayConfig({
    NATS_URL: 'nats://127.0.0.1:1',
    RUNLEDGER_SECRET_KEYS: 'A'.repeat(43) + '=',
    ...environment,
  });
const parts = () => ({ log: bed.log, logger: silentLogger, now: () => new Date() });

/** The sweep after so many days. */
const sweepAfter = async (days: number): Promise<void> => {
  const { log } = bed;
  await using store = openModelStore(configOf(), parts());
  const kit = aKit({ config: configOf(), log, logger: silentLogger, clock: () => performance.now() });
  const swept = {
    records: modelRecords(log),
    store,
    usesOf: (org_id: string) => catalogue(log).versions.models(org_id),
    catalogueCreated: async () => new Date(0).toISOString(),
    brokerTime: async () => new Date(Date.now() + days * DAY_MS),
  };
  await sweepModels(kit, swept, new AbortController().signal);
};

const chunks = async (): Promise<number> => {
  const { state } = await bed.log.jsm.streams.info('OBJ_MODELS', { subjects_filter: '$O.MODELS.C.>' });
  return Object.keys(state.subjects ?? {}).length;
};

describe('a model', () => {
  it('is removed a day after it was kept when no version names it, and not before', async () => {
    const gateway = await bed.gateway();
    const client = await aClient(gateway);
    const [named, other] = [Buffer.from(randomBytes(100)), Buffer.from(randomBytes(100))];
    for (const bytes of [named, other]) await client.keep(sha256Of(bytes), await client.upload(bytes));
    const sha256 = sha256Of(named);
    const made = await client.publish({ 'a.bin': { sha256, bytes: 100 } });
    const newer = await client.publish({});
    await sweepAfter(0.9);
    expect(await client.list()).toHaveLength(2);
    await sweepAfter(1.1);
    expect(await client.list()).toMatchObject([{ sha256, versions: 1 }]);
    const version = await catalogue(bed.log).versions.get(client.tenant.org_id, made.body.id);
    expect([version?.models, newer.status]).toEqual([[sha256], 201]);
    if (version) await catalogue(bed.log).versions.remove(version, async () => undefined);
    await sweepAfter(1.1);
    expect(await client.list()).toEqual([]);
    expect((await client.model(sha256)).status).toBe(404);
  });

  it('of which a killed gateway left a half is kept by the next try, and the half is removed', async () => {
    const gateway = await bed.gateway();
    const client = await aClient(gateway);
    const bytes = Buffer.from(randomBytes(1_000));
    const sha256 = sha256Of(bytes);
    const half = randomBytes(32).toString('base64url');
    await using store = openModelStore(configOf(), parts());
    const about = { key: half, filename: sha256, content_type: 'application/octet-stream' };
    await store.put(about, ReadableStream.from([bytes.subarray(0, 500)]));
    const created_at = new Date().toISOString();
    const { org_id } = client;
    const model = { org_id, sha256, bytes: 1_000, created_at, key: null, coming: [half] };
    await modelRecords(bed.log).create(`models.${org_id}.${sha256}`, model);
    expect([(await client.model(sha256)).status, await client.list()]).toEqual([404, []]);
    expect((await client.publish({ 'a.bin': { sha256, bytes: 1_000 } })).status).toBe(422);
    expect((await client.keep(sha256, await client.upload(bytes))).status).toBe(200);
    const made = await client.publish({ 'a.bin': { sha256, bytes: 1_000 } });
    expect((await (await attemptOf(gateway, client, made.body.id))(sha256)).bytes.equals(bytes)).toBe(true);
    await sweepAfter(1.1);
    expect(await store.find(half)).toBeUndefined();
    expect(await client.list()).toMatchObject([{ sha256 }]);
  });

  it('leaves no chunks in the broker of what was never whole', async () => {
    const before = await chunks();
    const objects = await new Objm(bed.log.js).open('MODELS');
    const killed = objects.put(
      { name: 'never', options: { max_chunk_size: 100 } },
      // Its writer goes in between: nothing ends it.
      new ReadableStream({ start: (to) => to.enqueue(randomBytes(1_000)) }),
    );
    killed.catch(() => undefined);
    await expect.poll(chunks).toBe(before + 1);
    await removeIncomplete(bed.log, Date.now());
    expect(await chunks()).toBe(before + 1);
    await removeIncomplete(bed.log, Date.now() + 2 * DAY_MS);
    expect(await chunks()).toBe(before);
  });

  it('counts to the quota once, also while it is being kept', async () => {
    const gateway = await bed.gateway({ environment: { RUNLEDGER_QUOTA_MODEL_BYTES: '1500' } });
    const client = await aClient(gateway);
    const [one, two] = [Buffer.from(randomBytes(1_000)), Buffer.from(randomBytes(1_000))];
    const file = await client.upload(one);
    for (let tries = 0; tries < 2; tries += 1)
      expect((await client.keep(sha256Of(one), file)).status).toBe(200);
    const refused = await client.keep(sha256Of(two), await client.upload(two));
    expect(refused).toMatchObject({ status: 429, body: { code: 'quota_reached' } });
    expect(refused.body.detail).toContain('RUNLEDGER_QUOTA_MODEL_BYTES');
    const usage = (await call(`${gateway.api}/usage`, client.key)).body.model_bytes;
    expect(usage).toEqual({ used: 1_000, limit: 1_500, unit: 'bytes' });
    expect((await client.model(sha256Of(two))).status).toBe(404);
  });

  it('takes the file with it that was uploaded for it alone', async () => {
    const gateway = await bed.gateway();
    const client = await aClient(gateway);
    const send = async (bytes: Buffer<ArrayBuffer>): Promise<string> => {
      const headers = { 'upload-length': String(bytes.length), 'upload-metadata': 'filename YQ==,model' };
      const { body } = await call(`${gateway.api}/files/uploads`, client.key, { method: 'POST', headers });
      const type = { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
      await call(body.url, client.key, { method: 'PATCH', headers: type, body: bytes });
      return (await call(body.url, client.key)).body.file.id;
    };
    const [alone, shared] = [Buffer.from(randomBytes(50)), Buffer.from(randomBytes(50))];
    const id = await client.upload(shared);
    expect(await send(shared)).toBe(id);
    const own = await send(alone);
    for (const [bytes, file] of [[alone, own] as const, [shared, id] as const])
      expect((await client.keep(sha256Of(bytes), file)).status).toBe(200);
    const status = async (file: string) => (await call(`${gateway.api}/files/${file}`, client.key)).status;
    expect([await status(own), await status(id)]).toEqual([404, 200]);
  });
});
