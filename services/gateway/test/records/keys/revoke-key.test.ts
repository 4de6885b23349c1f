import type { ApiKey, KeyScope } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authenticate, createApiKey, newKey } from '../../../src/records/keys/api-keys.ts';
import { keyStore, type IndexedKey } from '../../../src/records/keys/key-store.ts';
import { listKeys, revokeKey } from '../../../src/records/keys/api-keys-routes.ts';
import { aLog, type TestLog } from '../../fixtures/gateway/a-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

const newOwner = () => ({ org_id: newUuid(), user_id: newUuid(), name: 'laptop' });
const revoke = async (asking: ApiKey, id: string) => (await revokeKey(test.log, asking, id)).kind;

describe('a key', () => {
  it('can be revoked only by its user and by an admin of the organisation', async () => {
    const mine = newOwner();
    const { record, key } = await createApiKey(test.log, mine);
    const stranger = (await createApiKey(test.log, { ...newOwner(), scopes: ['admin'] })).record;
    const colleague = (await createApiKey(test.log, { ...mine, user_id: newUuid() })).record;
    expect(await revoke(stranger, record.id)).toBe('not_found');
    expect(await revoke(colleague, record.id)).toBe('not_found');
    expect(await revoke(record, newUuid())).toBe('not_found');
    expect(await authenticate(test.log, key)).toEqual(record);
    expect(await revoke({ ...colleague, scopes: ['admin'] }, record.id)).toBe('revoked');
    expect(await revoke({ ...colleague, scopes: ['admin'] }, record.id)).toBe('not_found');
    expect(await authenticate(test.log, key)).toBeUndefined();
  });

  const table: [KeyScope, KeyScope, KeyScope | 'nothing'][] = [
    ['runs:read', 'runs:read', 'runs:write'],
    ['runs:read', 'admin', 'runs:write'],
    ['runs:write', 'runs:read', 'nothing'],
    ['runs:write', 'runs:write', 'nothing'],
    ['runs:write', 'admin', 'admin'],
    ['admin', 'runs:write', 'nothing'],
    ['admin', 'admin', 'nothing'],
  ];
  it.each(table)('with %s that would revoke one of its user with %s lacks %s', async (has, its, lacks) => {
    const owner = newOwner();
    const asking = (await createApiKey(test.log, { ...owner, scopes: [has] })).record;
    const { record, key } = await createApiKey(test.log, { ...owner, scopes: [its] });
    const expected = lacks === 'nothing' ? { kind: 'revoked' } : { kind: 'lacks_scope', scope: lacks };
    expect(await revokeKey(test.log, asking, record.id)).toEqual(expected);
    expect(await authenticate(test.log, key)).toEqual(lacks === 'nothing' ? undefined : record);
  });

  const scopes: readonly KeyScope[] = ['runs:read', 'runs:write', 'admin'];
  it.each(scopes)('with %s revokes itself', async (scope) => {
    const { record, key } = await createApiKey(test.log, { ...newOwner(), scopes: [scope] });
    expect(await revoke(record, record.id)).toBe('revoked');
    expect(await authenticate(test.log, key)).toBeUndefined();
  });
});

describe('a key that is revoked while it is created', () => {
  const begun = async () => {
    const { stored, key } = newKey(newOwner(), new Date());
    await keyStore(test.log).index(stored);
    return { stored, key };
  };
  const whereItIs = async ({ record }: IndexedKey, key: string) => ({
    good: (await authenticate(test.log, key)) !== undefined,
    listed: (await listKeys(test.log, record)).length > 0,
  });

  it('is invalid: its record is stored, and erased', async () => {
    const { stored, key } = await begun();
    expect(await revoke(stored.record, stored.record.id)).toBe('revoked');
    expect(await keyStore(test.log).create(stored)).toBe(true);
    expect(await whereItIs(stored, key)).toEqual({ good: false, listed: false });
  });

  it('is neither valid nor listed, in any order of the steps', async () => {
    const store = keyStore(test.log);
    for (let round = 0; round < 20; round += 1) {
      const { stored, key } = await begun();
      // Revoking begins to erase just before the record is there.
      await Promise.all([store.revoke(stored), store.create(stored)]);
      expect(await whereItIs(stored, key)).toEqual({ good: false, listed: false });
    }
  });
});
