import { createUser, decode, fromPublic, fromSeed } from '@nats-io/nkeys';
import { describe, expect, it } from 'vitest';
import { InvalidSeed, keyAuthenticator, newUserKey, publicKeyOf } from '../../src/connect/user-key.ts';

describe('the key of a user', () => {
  it('has a public key that is derived from its seed, also with blanks around it', () => {
    const { seed, publicKey } = newUserKey();
    expect(seed).toMatch(/^SU/);
    expect(publicKeyOf(`${seed}\n`)).toBe(publicKey);
  });

  it('has the texts of the library of NATS, in both directions', () => {
    const { seed, publicKey } = newUserKey();
    expect(fromSeed(Buffer.from(seed)).getPublicKey()).toBe(publicKey);
    const theirs = createUser();
    expect(publicKeyOf(Buffer.from(theirs.getSeed()).toString())).toBe(theirs.getPublicKey());
  });

  it('signs what a broker asks for, as the library of NATS verifies it', () => {
    const { seed, publicKey } = newUserKey();
    const answer = keyAuthenticator(`${seed}\n`)('a nonce');
    if (!answer || !('nkey' in answer)) throw new Error('That is no answer with a key.');
    const { nkey, sig = '' } = answer;
    expect(nkey).toBe(publicKey);
    expect(fromPublic(publicKey).verify(Buffer.from('a nonce'), decode(sig))).toBe(true);
    expect(fromPublic(publicKey).verify(Buffer.from('another nonce'), decode(sig))).toBe(false);
  });

  it.each([
    ['nothing', ''],
    ['a public key', newUserKey().publicKey],
    [
      'a seed with one letter changed',
      newUserKey().seed.replace(/(?<=^.{20})./, (letter) => (letter === 'A' ? 'B' : 'A')),
    ],
    ['the seed of an account', `SA${newUserKey().seed.slice(2)}`],
  ])('cannot be read from %s, and the error does not quote it', (_what, text) => {
    const read = (): string => publicKeyOf(text);
    expect(read).toThrow(InvalidSeed);
    expect(read).not.toThrow(text || 'a text that is empty cannot be quoted');
  });
});
