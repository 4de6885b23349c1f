import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { createApiKey, newKeyText, sha256Of } from '../../../src/records/keys/api-keys.ts';
import { keyName, keysOf, keyStore, lastUsesOf } from '../../../src/records/keys/key-store.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let gateway: TestGateway;
let other: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  [gateway, other] = await Promise.all([bed.gateway(), bed.gateway()]);
});
afterAll(() => bed[Symbol.asyncDispose]());

const list = (key: string) => call(`${gateway.api}/api-keys`, key);
const create = (key: string, body: object) => post(`${gateway.api}/api-keys`, key, body);
const revoke = (key: string, id: string) => call(`${gateway.api}/api-keys/${id}`, key, { method: 'DELETE' });
const aTenantsKey = async (scopes: KeyScope[]): Promise<{ tenant: Tenant; key: string }> => {
  const tenant = await bed.newTenant();
  return { tenant, key: await aKey(bed.log, tenant, { scopes }) };
};
const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

describe('POST /api-keys', () => {
  it('returns a valid key, this once', async () => {
    const { tenant, key } = await aTenantsKey(['runs:write']);
    const [parent] = (await list(key)).body.api_keys;
    const { status, body, headers } = await create(key, { name: 'ci' });
    expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
    const { key: made, ...shown } = body;
    expect(shown).toEqual({
      id: expect.any(String),
      name: 'ci',
      prefix: made.slice(0, 8),
      scopes: ['runs:write'],
      created_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      expires_at: null,
      last_used_at: null,
      last_used_address: null,
      user_id: tenant.user_id,
      parent_key_id: parent.id,
      made_by: tenant.user_id,
    });
    const listed = await list(made);
    expect(listed.body.api_keys[0]).toMatchObject({ id: body.id, name: 'ci' });
    expect(JSON.stringify(listed.body)).not.toContain(made);
  });

  it('accepts an expiry with an offset, and returns it in UTC', async () => {
    const { key } = await aTenantsKey(['runs:write']);
    const { status, body } = await create(key, { name: 'ci', expires_at: '2999-01-01T01:00:00+01:00' });
    expect([status, body.expires_at]).toEqual([201, '2999-01-01T00:00:00.000Z']);
  });

  it('grants no scope that the calling key lacks', async () => {
    const { key } = await aTenantsKey(['runs:write']);
    const refused = await create(key, { name: 'x', scopes: ['runs:read', 'admin'] });
    expect([refused.status, refused.body.detail]).toEqual([
      403,
      'This API key lacks the scope admin. Create the key without it, or with a key that has it',
    ]);
    const reader = await create(key, { name: 'x', scopes: ['runs:read', 'runs:read'] });
    expect([reader.status, reader.body.scopes]).toEqual([201, ['runs:read']]);
    const { status, body } = await create(reader.body.key, { name: 'x' });
    expect([status, body]).toEqual([
      403,
      aRefusal('scope_missing', 'This API key lacks the scope runs:write'),
    ]);
  });

  it.each<{ scopes: KeyScope[] }>([{ scopes: ['admin'] }, { scopes: ['admin', 'operator'] }])(
    'gives no operator to a key with $scopes, and says who does',
    async ({ scopes }) => {
      const { key } = await aTenantsKey(scopes);
      const { status, body } = await create(key, { name: 'x', scopes: ['runs:read', 'operator'] });
      expect([status, body.detail]).toEqual([
        422,
        [
          {
            loc: ['body', 'scopes', 1],
            type: 'enum',
            msg: expect.stringMatching(/operator is created with .* runledger keys create --operator$/),
          },
        ],
      ]);
    },
  );

  it('creates no key that outlives the calling key', async () => {
    const tenant = await bed.newTenant();
    const expires_at = inAnHour();
    const key = await aKey(bed.log, tenant, { expires_at });
    const request = { name: 'x', expires_at: '2999-01-01' };
    const { status, body } = await create(key, request);
    expect([status, body.detail]).toEqual([
      422,
      [{ loc: ['body', 'expires_at'], type: 'value_error', msg: expect.stringContaining(expires_at) }],
    ]);
    expect((await create(key, { name: 'x', expires_at: null })).body.expires_at).toBe(expires_at);
  });

  it('creates a key for another user of the organisation for an admin only', async () => {
    const { tenant, key } = await aTenantsKey(['runs:write']);
    const { org_id } = tenant;
    const admin = await aKey(bed.log, tenant, { scopes: ['admin'] });
    const colleague = { id: newUuid(), org_id, name: 'colleague', created_at: '2026-01-01T00:00:00.000Z' };
    await catalogue(bed.log).createUser(colleague);
    const request = { name: 'x', user_id: colleague.id.toUpperCase() };
    const made = await create(admin, request);
    expect([made.status, made.body.user_id]).toEqual([201, colleague.id]);
    expect((await list(made.body.key)).body.api_keys).toHaveLength(1);
    for (const user_id of [colleague.id, newUuid()]) {
      const { status, body } = await create(key, { name: 'x', user_id });
      expect([status, body.detail]).toEqual([
        403,
        'This API key lacks the scope admin. Leave user_id out to create a key of your own',
      ]);
    }
    const unknown = await create(admin, { name: 'x', user_id: newUuid() });
    expect([unknown.status, unknown.body.detail[0].loc]).toEqual([422, ['body', 'user_id']]);
    expect((await create(key, { name: 'x', user_id: tenant.user_id })).status).toBe(201);
  });

  it('creates no key for a key that was revoked', async () => {
    const { key } = await aTenantsKey(['runs:write']);
    const { body } = await create(key, { name: 'x' });
    expect((await list(body.key)).status).toBe(200);
    expect((await revoke(key, body.id)).status).toBe(204);
    expect((await create(body.key, { name: 'y' })).status).toBe(401);
    const names = (await list(key)).body.api_keys.map(({ name }: { name: string }) => name);
    expect(names).not.toContain('y');
  });

  it('lists everything that is wrong at once', async () => {
    const { key } = await aTenantsKey(['runs:write']);
    const wrongOf = async (body: object) =>
      (await create(key, body)).body.detail.map(({ loc, type }: { loc: string[]; type: string }) => [
        loc.join('.'),
        type,
      ]);
    const past = { scopes: [], expires_at: '2001-01-01T00:00:00Z' };
    expect(await wrongOf(past)).toEqual([
      ['body.name', 'missing'],
      ['body.scopes', 'too_short'],
      ['body.expires_at', 'datetime_future'],
    ]);
    expect(await wrongOf({ name: '', scopes: ['root'], expires_at: 'soon' })).toEqual([
      ['body.name', 'string_pattern_mismatch'],
      ['body.scopes.0', 'enum'],
      ['body.expires_at', 'datetime_parsing'],
    ]);
    expect(await wrongOf({ name: 'x'.repeat(129) })).toEqual([['body.name', 'string_pattern_mismatch']]);
  });

  it('explains what a valid name is', async () => {
    const { key } = await aTenantsKey(['runs:write']);
    const { status, body } = await create(key, { name: 'ci\u202egnp' });
    expect([status, body.detail[0].loc]).toEqual([422, ['body', 'name']]);
    expect(body.detail[0].msg).toMatch(/^Send a text of 1 to 128 characters that is not blank/);
  });

  it('creates at most a thousand keys for an organisation', async () => {
    const { tenant, key } = await aTenantsKey(['runs:write']);
    const store = keyStore(bed.log);
    const { record } = await createApiKey(bed.log, { ...tenant, name: 'x', key: `rl_${newUuid()}` });
    const left = 1_000 - (await keysOf(store, tenant.org_id)).length;
    const more = Array.from({ length: left }, () => ({
      ...record,
      id: newUuid(),
      sha256: sha256Of(newKeyText()),
    }));
    await Promise.all(more.map((one) => store.create(keyName(one), { record: one })));
    const { status, body } = await create(key, { name: 'x' });
    expect([status, body]).toEqual([
      409,
      aRefusal('too_many_api_keys', expect.stringContaining('has 1000 API keys')),
    ]);
    expect((await revoke(key, more[0]?.id ?? '')).status).toBe(204);
    expect((await create(key, { name: 'x' })).status).toBe(201);
  });
});

describe('GET /api-keys', () => {
  it('lists a key whose name holds control characters', async () => {
    const { tenant, key } = await aTenantsKey(['runs:read']);
    const name = 'a\u0000b\u202e';
    await createApiKey(bed.log, { ...tenant, name, key: `rl_${newUuid()}` });
    expect((await list(key)).body.api_keys[0].name).toBe(name);
  });

  it("lists the user's keys newest first, and to an admin the organisation's", async () => {
    const { tenant, key } = await aTenantsKey(['runs:read']);
    const colleague = { ...tenant, user_id: newUuid() };
    const theirs = await createApiKey(bed.log, {
      org_id: tenant.org_id,
      user_id: colleague.user_id,
      name: 'theirs',
    });
    const admin = await aKey(bed.log, tenant, { scopes: ['admin'], name: 'admin' });
    const names = async (asking: string) =>
      (await list(asking)).body.api_keys.map(({ name }: { name: string }) => name);
    expect(await names(key)).toEqual(['admin', 'test', 'test']);
    expect(await names(admin)).toEqual(['admin', 'theirs', 'test', 'test']);
    expect(await names(theirs.key)).toEqual(['theirs']);
  });

  it('shows when a key was last used, right after its first use', async () => {
    const { key } = await aTenantsKey(['runs:read']);
    const before = Date.now();
    const used = await waitFor('the use to be noted', async () => {
      const { body } = await list(key);
      return body.api_keys.find(({ last_used_at }: { last_used_at: string | null }) => last_used_at !== null);
    });
    expect(Date.parse(used.last_used_at)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(used.last_used_at)).toBeLessThanOrEqual(Date.now());
    expect(used.last_used_address).toBe('127.0.0.1');
  });

  it('shows the address that a trusted proxy reports, and none that others report', async () => {
    const proxied = await bed.gateway({ environment: { RUNLEDGER_TRUSTED_PROXIES: 'loopback' } });
    for (const [at, expected] of [
      [proxied, '203.0.113.7'],
      [gateway, '127.0.0.1'],
    ] as const) {
      const { tenant, key } = await aTenantsKey(['runs:read']);
      const headers = { 'X-Forwarded-For': '198.51.100.1, 203.0.113.7' };
      expect((await call(`${at.api}/api-keys`, key, { headers })).status).toBe(200);
      const use = await waitFor('the use to be noted', async () =>
        [...(await lastUsesOf(bed.log, tenant.org_id)).values()].at(0),
      );
      expect(use.address).toBe(expected);
    }
  });
});

describe('DELETE /api-keys/{key_id}', () => {
  it('revokes at every gateway, within a second', async () => {
    const { tenant, key } = await aTenantsKey(['runs:write']);
    const { body } = await create(key, { name: 'lost' });
    const at = ({ api }: TestGateway) => call(`${api}/run/${newUuid()}`, body.key);
    expect((await at(other)).status).toBe(404);
    expect((await at(gateway)).status).toBe(404);
    expect((await revoke(key, body.id)).status).toBe(204);
    await waitFor('both to refuse it', async () => (await at(gateway)).status === 401, { withinMs: 5_000 });
    await waitFor('both to refuse it', async () => (await at(other)).status === 401, { withinMs: 5_000 });
    expect(await lastUsesOf(bed.log, tenant.org_id)).not.toContain(body.id);
  });

  it('revokes the keys that were made with it, unless they are to be kept', async () => {
    const { tenant, key } = await aTenantsKey(['runs:write']);
    const child = (await create(key, { name: 'child' })).body;
    const below = (await create(child.key, { name: 'below' })).body;
    const kept = (await create(below.key, { name: 'kept' })).body;
    const at = async ({ api }: TestGateway, one: string) => (await call(`${api}/api-keys`, one)).status;
    expect([await at(other, child.key), await at(other, kept.key)]).toEqual([200, 200]);

    const alone = `${gateway.api}/api-keys/${below.id}?keep_descendants=true`;
    expect((await call(alone, key, { method: 'DELETE' })).status).toBe(204);
    await waitFor('it to be refused', async () => (await at(other, below.key)) === 401, { withinMs: 5_000 });
    expect(await at(other, kept.key)).toBe(200);
    const shown = (await list(key)).body.api_keys.find(({ id }: { id: string }) => id === kept.id);
    expect(shown.parent_key_id).toBe(below.id);

    const admin = await aKey(bed.log, tenant, { scopes: ['admin'] });
    expect((await revoke(admin, child.id)).status).toBe(204);
    for (const gone of [child, kept])
      await waitFor('both to be refused', async () => (await at(other, gone.key)) === 401, {
        withinMs: 5_000,
      });
    expect([await at(other, key), await at(other, admin)]).toEqual([200, 200]);
    const wrong = await call(`${gateway.api}/api-keys/${child.id}?keep_descendants=x`, key, {
      method: 'DELETE',
    });
    expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ['query', 'keep_descendants']]);
  });

  it('answers alike for an unknown key, a key of another organisation, and one of another user', async () => {
    const { tenant, key } = await aTenantsKey(['runs:write']);
    const foreign = await createApiKey(bed.log, { org_id: newUuid(), user_id: tenant.user_id, name: 'x' });
    const { org_id } = tenant;
    const colleagues = await createApiKey(bed.log, { org_id, user_id: newUuid(), name: 'x' });
    for (const id of [newUuid(), foreign.record.id, colleagues.record.id]) {
      const { status, body } = await revoke(key, id);
      expect([status, body]).toEqual([404, aRefusal('api_key_not_found', 'API key not found')]);
    }
    expect((await list(foreign.key)).status).toBe(200);
    const admin = await aKey(bed.log, tenant, { scopes: ['admin'] });
    expect((await revoke(admin, foreign.record.id)).status).toBe(404);
    expect((await revoke(admin, colleagues.record.id)).status).toBe(204);
  });

  it('lets a key revoke itself', async () => {
    const { tenant, key } = await aTenantsKey(['runs:write']);
    const [own] = (await list(key)).body.api_keys;
    expect((await revoke(key, own.id)).status).toBe(204);
    const left = await keysOf(keyStore(bed.log), tenant.org_id);
    expect(left.map(({ value }) => value.record.id)).not.toContain(own.id);
  });

  it('revokes no key with more scopes than the calling one, and names the missing scope', async () => {
    const { tenant, key } = await aTenantsKey(['runs:write']);
    const greater = await createApiKey(bed.log, {
      ...tenant,
      name: 'x',
      key: `rl_${newUuid()}`,
      scopes: ['admin'],
    });
    const { status, body } = await revoke(key, greater.record.id);
    expect([status, body.detail]).toEqual([
      403,
      'This API key lacks the scope admin. Use a key that has it. Without it, a key can revoke itself only, and no key can revoke one with more scopes',
    ]);
    expect((await list(greater.key)).status).toBe(200);
  });

  it('revokes a key that may only read when it is the calling one', async () => {
    const { key } = await aTenantsKey(['runs:write']);
    const reader = (await create(key, { name: 'x', scopes: ['runs:read'] })).body;
    expect((await revoke(reader.key, newUuid())).body.detail).toMatch(
      /^This API key lacks the scope runs:write\. Use a key that has it\. Without it, a key can revoke itself only/,
    );
    expect((await revoke(reader.key, reader.id)).status).toBe(204);
  });

  it('accepts a UUID in either case, and nothing else', async () => {
    const { key } = await aTenantsKey(['runs:write']);
    const { body } = await create(key, { name: 'x' });
    expect((await revoke(key, 'x')).body.detail).toMatchObject([
      { loc: ['path', 'key_id'], type: 'uuid_parsing' },
    ]);
    expect((await revoke(key, body.id.toUpperCase())).status).toBe(204);
  });
});

describe('what the API keys may do', () => {
  const table: [KeyScope, number, number, number][] = [
    ['runs:read', 200, 403, 403],
    ['runs:write', 200, 201, 204],
    ['admin', 200, 201, 204],
  ];
  it.each(table)('%s lists (%i), creates (%i) and revokes (%i)', async (scope, listed, created, revoked) => {
    const { tenant, key } = await aTenantsKey([scope]);
    const { record } = await createApiKey(bed.log, { ...tenant, name: 'x', key: `rl_${newUuid()}` });
    expect((await list(key)).status).toBe(listed);
    expect((await create(key, { name: 'x', scopes: [scope] })).status).toBe(created);
    expect((await revoke(key, record.id)).status).toBe(revoked);
  });
});

describe('the bucket of API keys', () => {
  it('holds no key, only hashes', async () => {
    const { key } = await aTenantsKey(['admin']);
    const keys = [key, bed.tenant.key, (await create(key, { name: 'x' })).body.key];
    for (const one of keys) expect((await list(one)).status).toBe(200);
    const { last_seq } = (await bed.log.jsm.streams.info('KV_KEYS')).state;
    let seen = 0;
    for (let seq = 1; seq <= last_seq; seq += 1) {
      const stored = await bed.log.jsm.streams.getMessage('KV_KEYS', { seq });
      if (stored === null) continue;
      seen += 1;
      for (const one of keys) expect(`${stored.subject} ${stored.string()}`).not.toContain(one);
    }
    expect(seen).toBeGreaterThanOrEqual(3 * keys.length - 1);
  });
});

describe('GET /whoami', () => {
  it('says whose the key is, what it may do, and which version responds', async () => {
    const [org_id, user_id] = [newUuid(), newUuid()];
    const created_at = '2026-01-01T00:00:00.000Z';
    const records = catalogue(bed.log);
    await records.createOrganisation({ id: org_id, name: 'Acme', created_at });
    await records.createUser({ id: user_id, org_id, name: 'Ada', created_at });
    const made = await createApiKey(bed.log, { org_id, user_id, name: 'fleet', scopes: ['operator'] });
    const { status, body } = await call(`${gateway.api}/whoami`, made.key);
    expect([status, body]).toEqual([
      200,
      {
        organisation: { id: org_id, name: 'Acme' },
        user: { id: user_id, name: 'Ada' },
        key: {
          id: made.record.id,
          name: 'fleet',
          prefix: made.key.slice(0, 8),
          scopes: ['operator'],
          created_at: expect.stringMatching(/Z$/),
          expires_at: null,
        },
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      },
    ]);
  });

  it('is refused without a valid key', async () => {
    expect((await call(`${gateway.api}/whoami`, 'rl_unknown')).status).toBe(401);
  });
});
