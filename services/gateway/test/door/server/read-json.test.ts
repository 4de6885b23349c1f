import { describe, expect, it } from 'vitest';
import { readJson } from '../../../src/door/json-body.ts';

const read = (text: string) => readJson(Buffer.from(text));

describe('a number of a body', () => {
  it.each([
    '18446744073709551615',
    '-9007199254740993',
    '123456789012345678901234567890',
    '1e20',
    '4.0',
    '12345678901234567890.5',
    '"18446744073709551615"',
    '{"18446744073709551615":{"a":18}}',
  ])('is kept as it is: %s', (text) => {
    const body = read(`{"inputs":[${text}]}`);
    expect(JSON.stringify(body)).toBe(`{"kind":"json","value":{"inputs":[${text}]}}`);
  });

  it('is refused beyond the range of a double, with its position', () => {
    expect(read('{"a":"1e400","inputs":{"seed":1e400}}')).toMatchObject({
      kind: 'invalid',
      problem: {
        loc: ['body', '{"a":"1e400","inputs":{"seed":'.length],
        type: 'json_invalid',
        msg: 'Send JSON in UTF-8: the number 1e400 is too large, beyond the range of a double',
      },
    });
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
    expect(read(`[${'9007199254740993,'.repeat(60_000)}1]`).kind).toBe('json');
    expect(read('9'.repeat(most)).kind).toBe('invalid');
    expect(read(`${'['.repeat(most / 2)}9007199254740993${']'.repeat(most / 2)}`).kind).toBe('invalid');
  });
});
