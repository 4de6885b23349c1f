import type { ApiKey } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { ancestorsBelow, descendantsOf } from '../../../src/records/keys/api-keys.ts';
import type { StoredKey } from '../../../src/records/keys/key-store.ts';

const aKey = (id: string): ApiKey => ({
  id,
  user_id: newUuid(),
  org_id: newUuid(),
  name: id,
  prefix: 'rl_',
  sha256: 'a'.repeat(64),
  scopes: ['runs:write'],
  created_at: '2026-01-01T00:00:00.000Z',
  expires_at: null,
});
const a: StoredKey = { record: aKey('a'), ancestors: [] };
const b: StoredKey = { record: aKey('b'), ancestors: ['a'] };
const c: StoredKey = { record: aKey('c'), ancestors: ['a', 'b'] };
const ids = (keys: readonly StoredKey[]): string[] => keys.map(({ record }) => record.id);

describe('the ancestors of a key', () => {
  it('are the present ancestors of its parent, and the parent', () => {
    expect(ancestorsBelow(a, [a])).toEqual(['a']);
    expect(ancestorsBelow(b, [a, b])).toEqual(['a', 'b']);
    expect(ancestorsBelow(c, [a, c])).toEqual(['a', 'c']);
    expect(ancestorsBelow(c, [c])).toEqual(['c']);
  });
});

describe('the descendants of a key', () => {
  it('are all below it, and neither itself nor those above and beside it', () => {
    const beside: StoredKey = { record: aKey('d'), ancestors: ['a'] };
    const keys = [a, b, c, beside];
    expect(ids(descendantsOf('a', keys))).toEqual(['b', 'c', 'd']);
    expect(ids(descendantsOf('b', keys))).toEqual(['c']);
    expect(descendantsOf('c', keys)).toEqual([]);
  });

  it('are still below it when the one between is gone', () => {
    expect(ids(descendantsOf('a', [a, c]))).toEqual(['c']);
  });
});
