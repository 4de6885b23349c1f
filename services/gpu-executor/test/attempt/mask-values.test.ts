import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskValues } from '../../src/attempt/log-buffer.decide.ts';

describe('secret values in a log', () => {
  it('are masked, also as JSON, in a URL and in base64', () => {
    const value = 'päss "word" & more';
    const mask = maskValues([value]);
    for (const form of [
      value,
      JSON.stringify({ value }),
      `https://example.com/?q=${encodeURIComponent(value)}`,
      Buffer.from(value).toString('base64'),
    ]) {
      expect(mask(`got ${form}`)).toContain('***');
      expect(mask(`got ${form}`)).not.toMatch(/word|more|cGFz|w6Rz/);
    }
  });

  it('are masked line by line, the longer one first', () => {
    const mask = maskValues(['first line\nsecond line\n', 'second']);
    expect(mask('key: first line')).toBe('key: ***');
    expect(mask('second line, then second')).toBe('***, then ***');
  });

  it('leave no text that holds one', () => {
    const secret = fc.string({ minLength: 4, maxLength: 40 }).filter((value) => !value.includes('*'));
    fc.assert(
      fc.property(fc.array(secret, { minLength: 1, maxLength: 4 }), fc.string(), (values, rest) => {
        const text = maskValues(values)(values.join(rest.replaceAll('*', '')));
        for (const value of values) expect(text.includes(value)).toBe(false);
      }),
    );
  });

  it('change no other text', () => {
    expect(maskValues(['sk-12345'])('sk-1234 and 12345')).toBe('sk-1234 and 12345');
  });
});
