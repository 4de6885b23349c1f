import { randomBytes } from 'node:crypto';
import { signer } from '@runledger/webhooks/secret-box';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runTokens, type RunToken } from '../../../src/door/credentials.ts';

const newKey = (): string => randomBytes(32).toString('base64');
const key = newKey();
const tokens = runTokens(signer([key], 'run-token'));
const token: RunToken = {
  org_id: '0191d3a0-0000-7000-8000-000000000001',
  run_id: '0191d3a0-0000-7000-8000-000000000002',
  key_id: '0191d3a0-0000-7000-8000-000000000003',
  scopes: ['read', 'logs'],
  expires_at: 1_777_777_777_777,
};

describe('the text of a token', () => {
  const text = tokens.write(token);

  it('can be read where the key is known, also when another key signs now', () => {
    expect(text).toMatch(/^rlt_[\w-]+\.[\w-]{43}$/);
    expect(tokens.read(text)).toEqual(token);
    expect(runTokens(signer([newKey(), key], 'run-token')).read(text)).toEqual(token);
    expect(runTokens(signer([newKey()], 'run-token')).read(text)).toBeUndefined();
  });

  it('is worth nothing once any character of it is changed', () => {
    fc.assert(
      fc.property(
        fc.nat(text.length - 1),
        fc.constantFrom('a', 'Z', '0', '9', '_', '-', '.'),
        (at, other) => {
          fc.pre(text[at] !== other);
          expect(tokens.read(text.slice(0, at) + other + text.slice(at + 1))).toBeUndefined();
        },
      ),
      { numRuns: casesOf(100) },
    );
    for (const wrong of [text.slice(0, -1), `${text}A`, `${text}.`, text.slice(4), '', 'rlt_.', `${text} `])
      expect(tokens.read(wrong), wrong).toBeUndefined();
  });

  it('is not what the same key signs for another purpose', () => {
    expect(runTokens(signer([key], 'output-url')).read(text)).toBeUndefined();
  });

  it('is not read when a later release says more in it', () => {
    const other = { ...token, scopes: ['everything'] } as unknown as RunToken;
    expect(tokens.read(tokens.write(other))).toBeUndefined();
  });
});
