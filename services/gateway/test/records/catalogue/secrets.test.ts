import { createHash, randomBytes } from 'node:crypto';
import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { assigned } from '@runledger/testing/run-events';
import { readToEnd } from '@runledger/event-log/follow/read-to-end';
import { secretBox } from '@runledger/webhooks/secret-box';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aKey, aTenant, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';

const newKey = (): string => randomBytes(32).toString('base64');
const [OLD, NEXT] = [newKey(), newKey()];
const VALUE = 'hf_a-secret-value';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ environment: { RUNLEDGER_SECRET_KEYS: OLD } });
});
afterAll(() => bed[Symbol.asyncDispose]());

/** An organisation of the test's own, with the key of an admin. */
const anOrganisation = async (): Promise<Tenant & { readonly admin: string }> => {
  const tenant = await aTenant(bed.log);
  return { ...tenant, admin: await aKey(bed.log, tenant, { scopes: ['runs:write', 'admin'] }) };
};
const set = (key: string, name: string, value: unknown = VALUE, api = gateway.api): Promise<ApiAnswer> =>
  call(`${api}/secrets/${name}`, key, {
    method: 'PUT',
    body: JSON.stringify({ value }),
    headers: { 'content-type': 'application/json' },
  });
const list = async (key: string, api = gateway.api) => (await call(`${api}/secrets`, key)).body.secrets;
const remove = (key: string, name: string) =>
  call(`${gateway.api}/secrets/${name}`, key, { method: 'DELETE' });

/** All that a stream has, as text. */
const textOf = async (stream: string): Promise<string> => {
  let text = '';
  const all = { stream, subjects: ['>'], behind: 0, lastPerSubject: false, withinMs: 10_000 };
  for await (const { subject, data } of readToEnd(bed.log, all))
    text += `${subject} ${Buffer.from(data).toString()}\n`;
  return text;
};

describe('secrets of an organisation', () => {
  it('are set, listed by their names without a value, and removed', async () => {
    const { admin, key, user_id } = await anOrganisation();
    const made = await set(admin, 'HF_TOKEN');
    expect([made.status, made.body]).toEqual([
      200,
      {
        name: 'HF_TOKEN',
        created_at: expect.any(String),
        updated_at: made.body.created_at,
        updated_by: user_id,
      },
    ]);
    await set(admin, 'A', 'x');
    const again = await set(admin, 'HF_TOKEN', 'another');
    expect(again.body.created_at).toBe(made.body.created_at);
    expect(await list(key)).toEqual([expect.objectContaining({ name: 'A' }), again.body]);
    const stranger = await anOrganisation();
    expect(await list(stranger.key)).toEqual([]);
    expect((await remove(stranger.admin, 'A')).status).toBe(404);
    expect((await remove(admin, 'A')).status).toBe(204);
    expect(await remove(admin, 'A')).toMatchObject({ status: 404, body: { code: 'secret_not_found' } });
    expect(await list(key)).toEqual([again.body]);
  });

  it('need an admin to change, have a name of a variable, and a text that UTF-8 can hold', async () => {
    const { admin, key } = await anOrganisation();
    const reader = await aKey(bed.log, await aTenant(bed.log), { scopes: ['runs:read'] });
    for (const other of [key, reader]) expect((await set(other, 'A')).status).toBe(403);
    for (const name of ['9A', 'A-B', 'A'.repeat(129), 'A.B'])
      expect((await set(admin, name)).body.detail[0].loc).toEqual(['path', 'name']);
    const most = 'ä'.repeat(16_384);
    expect((await set(admin, 'A', most)).status).toBe(200);
    for (const value of ['', 7, null, 'a\0b', `${most}x`, 'x'.repeat(32_769)]) {
      const refused = await set(admin, 'A', value);
      expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ['body', 'value']]);
    }
    expect((await set(admin, 'A', '\ud800')).status).toBe(422);
    const { body } = await set(admin, 'A', `${VALUE}\0`);
    expect(JSON.stringify(body)).not.toContain(VALUE);
  });

  it('are at most as many as the quota', async () => {
    const small = await bed.gateway({ environment: { RUNLEDGER_QUOTA_SECRETS: '2' } });
    const { admin } = await anOrganisation();
    for (const name of ['A', 'B', 'A']) expect((await set(admin, name, 'x', small.api)).status).toBe(200);
    expect(await set(admin, 'C', 'x', small.api)).toMatchObject({
      status: 429,
      body: { code: 'quota_reached', detail: expect.stringContaining('RUNLEDGER_QUOTA_SECRETS') },
    });
    expect((await call(`${small.api}/usage`, admin)).body.secrets).toEqual({
      used: 2,
      limit: 2,
      unit: 'secrets',
    });
  });

  it('are stored sealed, and recorded by name only', async () => {
    const { admin, org_id } = await anOrganisation();
    await set(admin, 'RECORDED', VALUE);
    await remove(admin, 'RECORDED');
    await set(admin, 'RECORDED', VALUE);
    const { body } = await call(`${gateway.api}/audit`, admin);
    const actions = body.records
      .filter(({ target }: { target: { kind: string } }) => target?.kind === 'organisation_secret')
      .map((one: { action: string; target: { id: string } }) => [one.action, one.target.id]);
    expect(actions).toContainEqual(['organisation_secret.set', 'RECORDED']);
    expect(actions).toContainEqual(['organisation_secret.removed', 'RECORDED']);
    for (const stream of ['KV_CATALOGUE', 'AUDIT', 'AUDIT_RIGHTS']) {
      const text = await textOf(stream);
      for (const form of [VALUE, Buffer.from(VALUE).toString('base64')]) expect(text).not.toContain(form);
    }
    expect(await textOf('KV_CATALOGUE')).toContain(`secrets.${org_id}.RECORDED`);
  });

  it('are sealed again with a new key, which alone opens them then', async () => {
    await bed.log.jsm.streams.purge('KV_WEBHOOK_SECRETS');
    await bed.log.jsm.streams.purge('KV_CATALOGUE', { filter: '$KV.CATALOGUE.secrets.>' });
    const { admin, org_id } = await anOrganisation();
    const operator = await aKey(bed.log, bed.tenant, { scopes: ['operator'] });
    for (let index = 0; index < 3; index += 1) await set(admin, `S${index}`);
    const sealing_key = secretBox([NEXT]).keyIds[0];
    const both = await bed.gateway({ environment: { RUNLEDGER_SECRET_KEYS: `${NEXT},${OLD}` } });
    const NOTHING = { current: 0, resealed: 0, old: 0, unreadable: 0 };
    const counted = { kind: 'organisation_secrets', ...NOTHING };
    const check = async (api: string) => (await call(`${api}/sealed-values`, operator)).body;
    expect((await check(both.api)).counts).toContainEqual({ ...counted, old: 3 });
    const lost = await bed.gateway({ environment: { RUNLEDGER_SECRET_KEYS: NEXT } });
    const unreadable = await check(lost.api);
    expect(unreadable.counts).toContainEqual({ ...counted, unreadable: 3 });
    expect(unreadable.unreadable[0]).toMatchObject({ kind: 'organisation_secrets', id: `${org_id}.S0` });
    const { body } = await post(`${both.api}/sealed-values/reseal`, operator, { sealing_key });
    expect(body.counts).toContainEqual(expect.objectContaining({ ...counted, resealed: 3, current: 3 }));
    expect((await check(lost.api)).counts).toContainEqual({ ...counted, current: 3 });
  });
});

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The document of an attempt of a version with these secrets. */
const anAttempt = async (
  { admin, key, org_id }: Tenant & { readonly admin: string },
  more: object,
): Promise<(query?: string, at?: TestGateway) => Promise<ApiAnswer>> => {
  const archive = Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), randomBytes(100)]);
  const { api } = gateway;
  const file = await call(`${api}/files?filename=a.tar.zst`, admin, {
    method: 'POST',
    body: archive,
    headers: { 'content-type': 'application/zstd' },
  });
  const { body: workflow } = await post(`${api}/workflows`, admin, { name: 'a' });
  const { body: version } = await post(`${api}/workflows/${workflow.id}/versions`, admin, {
    workflow: { code_sha256: sha256Of(archive), run: 'a.py:f', ...more },
    code: file.body.id,
  });
  const { body: machine } = await post(`${api}/machines`, admin, {
    name: 'a',
    gpu: 'CPU',
    runner: { kind: 'code' },
  });
  await post(`${api}/deployments`, admin, {
    name: 'a',
    workflow_version_id: version.id,
    machine_id: machine.id,
  });
  const queued = await post(`${api}/run/deployment/queue`, key, { deployment: 'a' });
  const run = { org_id, run_id: queued.body.run_id } as RunKey;
  const keys = await newAttemptKeys();
  await appendAll(bed.log, assigned(run, { publicKey: keys.publicKey }));
  const token = await signAttempt(keys, run, 1);
  return (query = '', { url } = gateway) =>
    call(`${url}/executions/${org_id}/${run.run_id}/1/assignment${query}`, token);
};

describe('the secrets of a version', () => {
  it('come with the assignment as they are then, without those that do not exist', async () => {
    const organisation = await anOrganisation();
    await set(organisation.admin, 'HF_TOKEN');
    await set(organisation.admin, 'OTHER', 'no version names it');
    const attempt = await anAttempt(organisation, { secrets: { TOKEN: 'HF_TOKEN', KEY: 'NONE' } });
    const { body } = await attempt();
    expect(body.secrets).toEqual({ TOKEN: VALUE });
    await set(organisation.admin, 'HF_TOKEN', 'rotated');
    const has = `?has_workflow=${sha256Of(Buffer.from(body.workflow))}`;
    expect((await attempt(has)).body).toMatchObject({ workflow: null, secrets: { TOKEN: 'rotated' } });
    await remove(organisation.admin, 'HF_TOKEN');
    expect((await attempt(has)).body.secrets).toEqual({});
  });

  it('whose key is lost are named, with what to do', async () => {
    const organisation = await anOrganisation();
    await set(organisation.admin, 'HF_TOKEN');
    const attempt = await anAttempt(organisation, { secrets: { TOKEN: 'HF_TOKEN' } });
    const lost = await bed.gateway({ environment: { RUNLEDGER_SECRET_KEYS: NEXT } });
    expect(await attempt('', lost)).toMatchObject({
      status: 424,
      body: {
        code: 'secrets_unreadable',
        detail: expect.stringContaining('runledger secrets set HF_TOKEN'),
      },
    });
  });

  it.each<readonly [string, object, readonly string[]]>([
    ['a variable of env', { env: { A: 'x' }, secrets: { A: 'S' } }, ['secrets', 'A']],
    ['a variable of the executor', { secrets: { RUNLEDGER_X: 'S' } }, ['secrets', 'RUNLEDGER_X']],
    [
      'a header with an unknown variable',
      { models: { a: { url: 'https://a.example/a', sha256: 'a'.repeat(64), headers: { A: '${B}' } } } },
      ['models', 'a', 'headers', 'A'],
    ],
    [
      'a header of the executor',
      { models: { a: { url: 'https://a.example/a', sha256: 'a'.repeat(64), headers: { Range: 'x' } } } },
      ['models', 'a', 'headers', 'Range'],
    ],
  ])('are refused in a manifest that has %s', async (_, more, at) => {
    const { admin } = await anOrganisation();
    const { body: workflow } = await post(`${gateway.api}/workflows`, admin, { name: 'a' });
    const { body } = await post(`${gateway.api}/workflows/${workflow.id}/versions`, admin, {
      workflow: { code_sha256: 'a'.repeat(64), run: 'a.py:f', ...more },
      code: workflow.id,
    });
    expect(body.detail.map(({ loc }: { loc: readonly string[] }) => loc)).toContainEqual([
      'body',
      'workflow',
      ...at,
    ]);
  });
});
