import { describe, expect, it } from 'vitest';
import { newUserKey, publicKeyOf, InvalidSeed } from '../../src/connect/user-key.ts';

describe('the key of a user', () => {
  it('has a public part that its seed tells, with blanks around it too', () => {
    const { seed, publicKey } = newUserKey();
    expect(seed).toMatch(/^SU/);
    expect(publicKeyOf(`${seed}\n`)).toBe(publicKey);
  });

  it.each([
    ['nothing', ''],
    ['a public key', newUserKey().publicKey],
    [
      'a seed with a letter changed',
      newUserKey().seed.replace(/(?<=^.{20})./, (letter) => (letter === 'A' ? 'B' : 'A')),
    ],
    ['the seed of an account', `SA${newUserKey().seed.slice(2)}`],
  ])('is refused when it is %s, without quoting it', (_what, text) => {
    const read = (): string => publicKeyOf(text);
    expect(read).toThrow(InvalidSeed);
    expect(read).not.toThrow(text || 'a text that is empty cannot be quoted');
  });
});
