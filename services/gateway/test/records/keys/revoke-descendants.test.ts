import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import { LogFull } from '@runledger/event-log/append/publish';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { aLog as aLogWith } from '@runledger/event-log/test/fixtures/test-log';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  authenticate,
  createApiKey,
  revokeApiKey,
  newKey,
  revokeWithDescendants,
  type CreatedApiKey,
} from '../../../src/records/keys/api-keys.ts';
import { deriveKey } from '../../../src/records/keys/derive-key.ts';
import { invalidate, keyName, keysOf, keyStore, type KeyStore } from '../../../src/records/keys/key-store.ts';
import { listKeys, revokeKey } from '../../../src/records/keys/api-keys-routes.ts';
import { aLog, type TestLog } from '../../fixtures/gateway/a-log.ts';

let test: TestLog;
let other: EventLog;
beforeAll(async () => {
  test = await aLog();
  other = await test.open();
});
afterAll(() => test[Symbol.asyncDispose]());

const now = new Date('2026-05-01T12:00:00.000Z');
const newOwner = () => ({ org_id: newUuid(), user_id: newUuid(), name: 'laptop' });
const aFirstKey = (): Promise<CreatedApiKey> => createApiKey(test.log, newOwner(), () => now);
const derive = async (parent: ApiKey, log = test.log): Promise<CreatedApiKey> => {
  const made = await deriveKey(log, parent, { name: 'x' }, now);
  if (made.kind !== 'derived') throw new Error(made.kind);
  return made.created;
};
const aChain = async (first: CreatedApiKey, length: number): Promise<CreatedApiKey[]> => {
  const chain = [first];
  while (chain.length < length) chain.push(await derive((chain.at(-1) ?? first).record));
  return chain;
};
const isValid = async ({ key }: CreatedApiKey): Promise<boolean> =>
  (await authenticate(test.log, key, () => now)) !== undefined;
const idsIn = async (org_id: string): Promise<string[]> =>
  (await keysOf(keyStore(test.log), org_id)).map(({ value }) => value.record.id);

describe('a key that another key made', () => {
  it('names it, also when that one was made by a third, and an operator’s key names none', async () => {
    const [first, second, third] = await aChain(await aFirstKey(), 3);
    expect(first?.record.parent_key_id).toBeUndefined();
    expect(second?.record.parent_key_id).toBe(first?.record.id);
    expect(third?.record.parent_key_id).toBe(second?.record.id);
  });

  it('is revoked with each key above it, and not with one beside or below it', async () => {
    const first = await aFirstKey();
    const [, second, third, fourth] = await aChain(first, 4);
    const beside = await derive(first.record);
    if (!second || !third || !fourth) throw new Error('the chain is short');
    expect(await revokeKey(test.log, first.record, third.record.id)).toEqual({ kind: 'revoked' });
    for (const gone of [third, fourth]) expect(await isValid(gone)).toBe(false);
    for (const kept of [first, second, beside]) expect(await isValid(kept)).toBe(true);
    expect((await listKeys(test.log, first.record)).map(({ id }) => id).sort()).toEqual(
      [first, second, beside].map(({ record }) => record.id).sort(),
    );
    expect(await revokeKey(test.log, second.record, first.record.id)).toEqual({ kind: 'revoked' });
    expect(await idsIn(first.record.org_id)).toEqual([]);
  });

  it('stays when its parent alone is revoked, and is still revoked with the key above that', async () => {
    const [first, second, third] = await aChain(await aFirstKey(), 3);
    if (!first || !second || !third) throw new Error('the chain is short');
    const keepDescendants = true;
    await revokeKey(test.log, first.record, second.record.id, { keepDescendants });
    expect(await isValid(second)).toBe(false);
    expect(await isValid(third)).toBe(true);
    const below = await derive(third.record);
    expect(below.record.parent_key_id).toBe(third.record.id);
    await revokeKey(test.log, first.record, first.record.id);
    for (const gone of [first, third, below]) expect(await isValid(gone)).toBe(false);
  });

  it('is revoked with a first key whose text was replaced', async () => {
    const first = await aFirstKey();
    const second = await derive(first.record);
    await revokeApiKey(test.log, first.key);
    expect(await isValid(second)).toBe(false);
  });

  it('is revoked with an expired one, and in no other organisation', async () => {
    const owner = { ...newOwner(), expires_at: new Date(now.getTime() + 1_000).toISOString() };
    const first = await createApiKey(test.log, owner, () => now);
    const second = await derive(first.record);
    const stranger = await aFirstKey();
    const admin = (await createApiKey(test.log, { ...owner, scopes: ['admin'], expires_at: null })).record;
    expect(await revokeKey(test.log, stranger.record, first.record.id)).toEqual({ kind: 'not_found' });
    expect(await isValid(second)).toBe(true);
    expect(await authenticate(test.log, second.key, () => new Date(now.getTime() + 1_000))).toBeUndefined();
    expect(await revokeKey(test.log, admin, first.record.id)).toEqual({ kind: 'revoked' });
    expect(await idsIn(first.record.org_id)).toEqual([admin.id]);
    expect(await isValid(stranger)).toBe(true);
  });

  it('has at most 32 keys above it, of which revoked ones do not count', async () => {
    const chain = await aChain(await aFirstKey(), 33);
    const [first, second] = chain;
    const last = chain.at(-1);
    if (!first || !second || !last) throw new Error('the chain is short');
    expect(await deriveKey(test.log, last.record, { name: 'x' }, now)).toEqual({
      kind: 'too_deep',
      most: 32,
    });
    await revokeKey(test.log, first.record, second.record.id, { keepDescendants: true });
    const next = await derive(last.record);
    expect(await deriveKey(test.log, next.record, { name: 'x' }, now)).toEqual({
      kind: 'too_deep',
      most: 32,
    });
    await revokeKey(test.log, first.record, first.record.id);
    expect(await idsIn(first.record.org_id)).toEqual([]);
  });

  it('is revoked with 998 others', async () => {
    const first = await aFirstKey();
    const store = keyStore(test.log);
    const made = Array.from({ length: 999 }, () =>
      newKey({ ...first.record, parent_key_id: first.record.id, ancestors: [first.record.id] }, now),
    );
    await Promise.all(made.map(({ record, stored }) => store.create(keyName(record), stored)));
    expect(await revokeKey(test.log, first.record, first.record.id)).toEqual({ kind: 'revoked' });
    const valid = await Promise.all(made.map(isValid));
    expect(valid.filter(Boolean)).toEqual([]);
    expect(await idsIn(first.record.org_id)).toEqual([]);
  });
});

describe('a key that is made while a key above it is revoked', () => {
  it('is not made after its parent was revoked', async () => {
    const [first, second] = await aChain(await aFirstKey(), 2);
    if (!first || !second) throw new Error('the chain is short');
    await revokeKey(test.log, first.record, first.record.id);
    for (const { record } of [first, second])
      expect(await deriveKey(test.log, record, { name: 'x' }, now)).toEqual({ kind: 'revoked' });
    expect(await idsIn(first.record.org_id)).toEqual([]);
  });

  it('is not stored when its parent is revoked between the last two steps', async () => {
    const parent = await aFirstKey();
    const { id } = parent.record;
    const { stored, key, record } = newKey({ ...parent.record, parent_key_id: id, ancestors: [id] }, now);
    const store = keyStore(test.log);
    const by = await store.get(keyName(parent.record));
    if (by === undefined) throw new Error('the parent is stored');
    await invalidate(store, parent.record);
    expect(await store.putWhile(keyName(record), stored, by)).toBe(false);
    expect(await isValid({ key, record })).toBe(false);
  });

  it('is found by a revocation that had listed the keys before', async () => {
    const first = await aFirstKey();
    const second = await derive(first.record);
    const late: CreatedApiKey[] = [];
    const store = keyStore(test.log);
    /** Both keys make another one just before they are revoked. */
    const makeOne = async (name: string): Promise<void> => {
      const parent = [first, second].find(({ record: one }) => keyName(one) === name);
      if (parent && late.length < 2) late.push(await derive(parent.record, other));
    };
    const racing: KeyStore = {
      ...store,
      update: async (name, value, revision) => {
        await makeOne(name);
        return store.update(name, value, revision);
      },
      erase: async (name) => {
        await makeOne(name);
        await store.erase(name);
      },
    };
    const { record } = first;
    await revokeWithDescendants(racing, { record });
    expect(late).toHaveLength(2);
    for (const key of [first, second, ...late]) expect(await isValid(key)).toBe(false);
    expect(await idsIn(record.org_id)).toEqual([]);
  });

  it('does not survive, in whatever order the steps of two gateways come', async () => {
    for (let round = 0; round < 10; round += 1) {
      const first = await aFirstKey();
      const second = await derive(first.record);
      const made: CreatedApiKey[] = [];
      const stop = new AbortController();
      /** Makes keys, and keys with these, until the broker refuses. */
      const makeKeys = async (parent: ApiKey): Promise<void> => {
        for (let tries = 0; tries < 30 && !stop.signal.aborted; tries += 1) {
          const derived = await deriveKey(other, parent, { name: 'x' }, now);
          if (derived.kind !== 'derived') return;
          made.push(derived.created);
          if (tries % 3 === 0) parent = derived.created.record;
        }
      };
      const making = [first, second].map(({ record }) => makeKeys(record));
      const revoked = await revokeKey(test.log, first.record, first.record.id);
      stop.abort();
      expect(revoked).toEqual({ kind: 'revoked' });
      await Promise.all(making);
      for (const key of [first, second, ...made]) expect(await isValid(key)).toBe(false);
      expect(await idsIn(first.record.org_id)).toEqual([]);
    }
  });

  it('stays after its parent alone was revoked, or is not made', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [first, second] = await aChain(await aFirstKey(), 2);
      if (!first || !second) throw new Error('the chain is short');
      const [derived] = await Promise.all([
        deriveKey(other, second.record, { name: 'x' }, now),
        revokeKey(test.log, first.record, second.record.id, { keepDescendants: true }),
      ]);
      const ids = await idsIn(first.record.org_id);
      const expected =
        derived.kind === 'derived' ? [first.record.id, derived.created.record.id] : [first.record.id];
      expect(ids.sort()).toEqual(expected.sort());
    }
  });
});

describe('a revocation that was interrupted', () => {
  it('is completed by repeating it with the same key', async () => {
    const [first, second, third] = await aChain(await aFirstKey(), 3);
    if (!first || !second || !third) throw new Error('the chain is short');
    const store = keyStore(test.log);
    let left = 1;
    const dying: KeyStore = {
      ...store,
      erase: async (name) => {
        if (left === 0) throw new Error('the gateway was killed');
        left -= 1;
        await store.erase(name);
      },
    };
    const { record } = first;
    await expect(revokeWithDescendants(dying, { record })).rejects.toThrow('killed');
    expect(await isValid(first)).toBe(true);
    expect(await revokeKey(test.log, record, record.id)).toEqual({ kind: 'revoked' });
    for (const key of [first, second, third]) expect(await isValid(key)).toBe(false);
    expect(await idsIn(record.org_id)).toEqual([]);
  });

  it('leaves a key that is not valid and makes no other one, and is completed by somebody else', async () => {
    const admin = (await createApiKey(test.log, { ...newOwner(), scopes: ['admin'] })).record;
    const first = await derive(admin);
    await invalidate(keyStore(test.log), first.record);
    expect(await isValid(first)).toBe(false);
    expect(await deriveKey(other, first.record, { name: 'x' }, now)).toEqual({ kind: 'revoked' });
    expect(await idsIn(admin.org_id)).toContain(first.record.id);
    expect(await revokeKey(other, admin, first.record.id)).toEqual({ kind: 'revoked' });
    expect(await idsIn(admin.org_id)).toEqual([admin.id]);
  });
});

it('a key is revoked with those below it while the bucket is full, and every gateway knows', async () => {
  await using full = await aLogWith({ keysMaxBytes: 64 * 1024 });
  const elsewhere = await full.open();
  const first = await createApiKey(full.log, { ...newOwner(), scopes: ['admin'] });
  const second = await deriveKey(full.log, first.record, { name: 'x' }, now);
  if (second.kind !== 'derived') throw new Error(second.kind);
  const fill = async (): Promise<void> => {
    for (let n = 0; n < 1_000; n += 1) await createApiKey(full.log, newOwner());
  };
  await expect(fill()).rejects.toBeInstanceOf(LogFull);
  const texts = [first.key, second.created.key];
  for (const text of texts) expect(await authenticate(elsewhere, text)).toBeDefined();
  expect(await revokeKey(full.log, first.record, first.record.id)).toEqual({ kind: 'revoked' });
  for (const text of texts) expect(await authenticate(elsewhere, text)).toBeUndefined();
});
