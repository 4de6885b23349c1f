import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileMasks, type MaskText } from '../src/log-masks.ts';

const masking = (...patterns: string[]): MaskText => {
  const compiled = compileMasks(patterns);
  if (compiled.kind === 'invalid') throw new Error(compiled.why);
  return compiled.mask;
};

describe('log masks', () => {
  it('replace every match of every pattern', () => {
    const mask = masking('sk-[A-Za-z0-9]{8,}', '(?i)password=\\S+');
    expect(mask('key sk-0123456789 and sk-abcdefghij, PASSWORD=hunter2 done')).toBe(
      'key *** and ***, *** done',
    );
    expect(mask('nothing here')).toBe('nothing here');
  });

  it('take the text of a replacement literally', () => {
    expect(masking('\\$[0-9]+')('price $1 $12')).toBe('price *** ***'.slice(0, 'price $1 $12'.length));
  });

  it('never make a text longer, in characters or bytes', () => {
    const masks = [masking('.'), masking('a'), masking('[aé]', 'b*c')];
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'é', 'b', 'c', '漢', ' ') }), (text) => {
        for (const mask of masks) {
          const masked = mask(text);
          expect(masked.length).toBeLessThanOrEqual(text.length);
          expect(Buffer.byteLength(masked)).toBeLessThanOrEqual(Buffer.byteLength(text));
        }
      }),
    );
  });

  it('take linear time for a pattern that would take exponential time elsewhere', () => {
    const began = performance.now();
    masking('(a+)+$', '(a|aa)+$')(`${'a'.repeat(4_000)}!`);
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  it.each([
    ['(', 'not valid RE2 syntax'],
    ['(?=look)', 'not valid RE2 syntax'],
    ['(a)\\1', 'not valid RE2 syntax'],
    ['a*', 'would be everywhere'],
    ['[a-z]{500}', 'too much time'],
  ])('are refused with %s', (pattern, why) => {
    expect(compileMasks([pattern])).toMatchObject({ kind: 'invalid', why: expect.stringContaining(why) });
  });

  it('name the pattern that is invalid', () => {
    expect(compileMasks(['fine', '('])).toMatchObject({ kind: 'invalid', at: 1 });
  });
});
