import { describe, expect, it } from 'vitest';
import { readJson } from '../../src/server/read-json.ts';

const read = (text: string) => readJson(Buffer.from(text));

describe('an integer beyond 2^53', () => {
  it.each([
    '18446744073709551615',
    '9007199254740993',
    '-9007199254740993',
    '123456789012345678901234567890',
  ])('is refused with its position when a double would change it: %s', (digits) => {
    expect(read(`{"a":"${digits}","inputs":{"seed":${digits}}}`)).toMatchObject({
      kind: 'invalid',
      problem: {
        loc: ['body', `{"a":"${digits}","inputs":{"seed":`.length],
        type: 'json_invalid',
        msg: expect.stringContaining(`the integer ${digits} needs more than the 53 bits`),
      },
    });
  });

  it.each([
    ['that is exact', '9007199254740992'],
    ['that is exact, though it is long', '36893488147419103232'],
    ['as JavaScript writes it', '10304680986716710000'],
    ['in another form', '1e20'],
    ['with a fraction, which is rounded as everywhere', '12345678901234567890.5'],
    ['as a text', '"18446744073709551615"'],
    ['as a part of a text', '"\\"18446744073709551615, \\\\"'],
    ['as a name', '{"18446744073709551615":{"a":18}}'],
  ])('is accepted: %s: %s', (_what, text) => {
    expect(read(text)).toEqual({ kind: 'json', value: JSON.parse(text) });
  });

  it('is found in a text of the maximum length', () => {
    const most = 1024 * 1024;
    for (const text of [
      '9'.repeat(most),
      '\\n'.repeat(most / 2),
      '\\"'.repeat(most / 2),
      '\\\\'.repeat(most / 2),
    ]) {
      expect(read(`["9999999999999999${text}"]`).kind).toBe('json');
    }
    expect(read(`[${'9007199254740993,'.repeat(60_000)}1]`).kind).toBe('invalid');
    expect(read('9'.repeat(most)).kind).toBe('invalid');
    expect(read(`${'['.repeat(most / 2)}9007199254740993${']'.repeat(most / 2)}`).kind).toBe('invalid');
  });
});
