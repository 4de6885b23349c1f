import { describe, expect, it } from 'vitest';
import { newUserKey, publicKeyOf, InvalidSeed } from '../../src/connect/broker-config.ts';

describe('the key of a user', () => {
  it('has a public key that is derived from its seed, also with blanks around it', () => {
    const { seed, publicKey } = newUserKey();
    expect(seed).toMatch(/^SU/);
    expect(publicKeyOf(`${seed}\n`)).toBe(publicKey);
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
