import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOutputKeyOf, newOutputKey } from '../../../src/runs/attempts/attempt-files.ts';
import { isOutputKey } from '../../../src/files/output-store.ts';

const token = fc.string({ minLength: 1, maxLength: 86 });
const name = fc.string({ minLength: 1, maxLength: 20 }).filter((text) => !text.includes('/'));
const file = fc.record({ subfolder: fc.constantFrom('', 'x', 'x/y'), filename: name });

describe('the key of an output file', () => {
  it('is a key of the store, new each time, and proves its attempt and its name', () => {
    fc.assert(
      fc.property(token, token, file, file, (mine, foreign, one, another) => {
        const key = newOutputKey(mine, one);
        expect(isOutputKey(key)).toBe(true);
        expect(newOutputKey(mine, one)).not.toBe(key);
        expect(isOutputKeyOf(mine, { ...one, key })).toBe(true);
        expect(isOutputKeyOf(foreign, { ...one, key })).toBe(foreign === mine);
        const isSame = one.subfolder === another.subfolder && one.filename === another.filename;
        expect(isOutputKeyOf(mine, { ...another, key })).toBe(isSame);
      }),
    );
  });

  it('is nothing that anyone can make up', () => {
    for (const bytes of [0, 16, 31, 32, 33]) {
      const key = randomBytes(bytes).toString('base64url');
      expect(isOutputKeyOf('token', { subfolder: '', filename: 'a', key })).toBe(false);
    }
  });
});
