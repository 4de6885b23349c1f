import { OrganisationScope, type ApiKey } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  authenticate,
  createApiKey,
  revokeApiKey,
  newKeyText,
  sha256Of,
  newKey,
} from '../../../src/records/keys/api-keys.ts';
import { deriveKey } from '../../../src/records/keys/derive-key.ts';
import { keyName, keyStore, lastUsesOf, recordUse } from '../../../src/records/keys/key-store.ts';
import { listKeys, revokeKey } from '../../../src/records/keys/api-keys-routes.ts';
import { allows } from '@runledger/contracts/scopes';
import { aLog, type TestLog } from '../../fixtures/gateway/a-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

const newOwner = () => ({ org_id: newUuid(), user_id: newUuid(), name: 'laptop' });
const now = new Date('2026-05-01T12:00:00.000Z');
const later = (seconds: number): Date => new Date(now.getTime() + seconds * 1000);

describe('an API key', () => {
  it('is found by its text', async () => {
    const { record, key } = await createApiKey(test.log, newOwner());
    expect(await authenticate(test.log, key)).toEqual(record);
    expect(record).toMatchObject({ scopes: ['runs:write'], expires_at: null, prefix: key.slice(0, 8) });
    expect(await authenticate(test.log, `${key}x`)).toBeUndefined();
  });

  it('may be chosen, and is found again only by the same user', async () => {
    const owner = newOwner();
    const key = `chosen-key-${newUuid()}`;
    const first = await createApiKey(test.log, { ...owner, key });
    expect(await createApiKey(test.log, { ...owner, key })).toEqual(first);
    expect(await listKeys(test.log, first.record)).toHaveLength(1);
    await expect(createApiKey(test.log, { ...newOwner(), key })).rejects.toThrow('belongs to another user');
  });

  it('is created once by concurrent requests', async () => {
    const owner = { ...newOwner(), key: `chosen-key-${newUuid()}` };
    const made = await Promise.all(Array.from({ length: 8 }, () => createApiKey(test.log, owner)));
    expect(new Set(made.map(({ record }) => record.id)).size).toBe(1);
    const [first] = made;
    expect(first && (await listKeys(test.log, first.record))).toHaveLength(1);
  });

  it('shows at most a quarter of itself', async () => {
    const chosen = newUuid().slice(-16);
    const { record } = await createApiKey(test.log, { ...newOwner(), key: chosen });
    expect(record.prefix).toBe(chosen.slice(0, 4));
  });

  it('is long enough and has no spaces', async () => {
    for (const key of ['short', 'with a space in it', 'ü'.repeat(20), '']) {
      await expect(createApiKey(test.log, { ...newOwner(), key })).rejects.toThrow(TypeError);
      expect(await authenticate(test.log, key)).toBeUndefined();
    }
  });

  it('is valid until it expires', async () => {
    const expires_at = later(60).toISOString();
    const { key, record } = await createApiKey(test.log, { ...newOwner(), expires_at }, () => now);
    expect(await authenticate(test.log, key, () => later(59.999))).toEqual(record);
    expect(await authenticate(test.log, key, () => later(60))).toBeUndefined();
  });

  it('is invalid with the record of another key', async () => {
    const { record } = await createApiKey(test.log, newOwner());
    const other = `another-key-${newUuid()}`;
    await keyStore(test.log).put(keyName({ sha256: sha256Of(other) }), { record });
    expect(await authenticate(test.log, other)).toBeUndefined();
  });

  it('is revoked by its text, and leaves a marker behind', async () => {
    const messages = async () => (await test.log.jsm.streams.info('KV_KEYS')).state.messages;
    const before = await messages();
    const { key, record } = await createApiKey(test.log, newOwner());
    await recordUse(test.log, record, { at: now, address: '10.0.0.1' }, 0);
    expect(await messages()).toBe(before + 2);
    await revokeApiKey(test.log, key);
    await revokeApiKey(test.log, key);
    expect(await authenticate(test.log, key)).toBeUndefined();
    expect(await messages()).toBe(before + 1);
  });

  it('has no last use after it was revoked', async () => {
    const { key, record } = await createApiKey(test.log, newOwner());
    await revokeApiKey(test.log, key);
    await recordUse(test.log, record, { at: now, address: '10.0.0.1' }, 0);
    expect(await lastUsesOf(test.log, record.org_id)).toEqual(new Map());
  });
});

describe('a key that derives another', () => {
  const giver = async (changes: Partial<ApiKey> = {}): Promise<ApiKey> => ({
    ...(await createApiKey(test.log, newOwner())).record,
    ...changes,
  });

  it('shares its rate with the new key and all keys derived from that', async () => {
    const first = await giver();
    expect(first.rate_key).toBeUndefined();
    const give = async (by: ApiKey): Promise<ApiKey> => {
      const given = await deriveKey(test.log, by, { name: 'x' }, now);
      if (given.kind !== 'derived') throw new Error(given.kind);
      return given.created.record;
    };
    const child = await give(first);
    const grandchild = await give(child);
    expect([child.rate_key, grandchild.rate_key]).toEqual([first.id, first.id]);
  });

  type Row = readonly [has: OrganisationScope, gives: OrganisationScope, may: boolean];
  const scopes = OrganisationScope.enum;
  const table = scopes.flatMap((has, rank) =>
    scopes.map((gives, wanted): Row => [has, gives, wanted <= rank]),
  );
  it.each(table)('with scope %s may grant %s: %s', async (has, gives, may) => {
    expect(allows([has], gives)).toBe(may);
    const given = await deriveKey(
      test.log,
      await giver({ scopes: [has] }),
      { name: 'x', scopes: [gives] },
      now,
    );
    expect(given).toMatchObject(may ? { kind: 'derived' } : { kind: 'lacks_scope', scope: gives });
  });

  it.each(scopes)('does not imply operator with %s, nor the other way around', async (scope) => {
    expect([allows([scope], 'operator'), allows(['operator'], scope)]).toEqual([false, false]);
    const operator = await giver({ scopes: ['operator'] });
    expect(await deriveKey(test.log, operator, { name: 'x', scopes: [scope] }, now)).toEqual({
      kind: 'lacks_scope',
      scope,
    });
  });

  it('derives keys up to the limit, also with concurrent requests', async () => {
    const by = await giver();
    const others = Array.from({ length: 996 }, () => newKey({ ...by, key: newKeyText() }, now));
    await Promise.all(others.map(({ record, stored }) => keyStore(test.log).create(keyName(record), stored)));
    const give = () => deriveKey(test.log, by, { name: 'x' }, now);
    const given = await Promise.all(Array.from({ length: 9 }, give));
    expect(given.filter(({ kind }) => kind === 'derived')).toHaveLength(3);
    expect(await give()).toEqual({ kind: 'too_many', most: 1_000 });
    const listed = await listKeys(test.log, by);
    expect(listed).toHaveLength(1_000);
    expect(await revokeKey(test.log, by, listed.at(-1)?.id ?? '')).toEqual({ kind: 'revoked' });
    expect(await give()).toMatchObject({ kind: 'derived' });
  });
});
