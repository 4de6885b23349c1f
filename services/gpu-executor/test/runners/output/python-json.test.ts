import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePythonJson } from '../../../src/runners/output/python-json.ts';

describe('JSON as Python writes it', () => {
  it.each([
    ['{"score": [NaN, Infinity, -Infinity, 1]}', { score: ['NaN', 'Infinity', '-Infinity', 1] }],
    ['{"text": "NaN and \\"Infinity\\" stay", "n": NaN}', { text: 'NaN and "Infinity" stay', n: 'NaN' }],
    ['{"path": "C:\\\\", "n": -Infinity}', { path: 'C:\\', n: '-Infinity' }],
    ['[NaN]', ['NaN']],
    ['null', null],
  ])('reads %s', (text, value) => {
    expect(parsePythonJson(text)).toEqual(value);
  });

  it.each(['', '{"a": NaN', '"NaN', '{"a": Nan}', 'NaNNaN', '<html>Infinity</html>'])(
    'reads nothing from %j',
    (text) => {
      expect(parsePythonJson(text)).toBeUndefined();
    },
  );

  it('reads all that JSON can say as JSON does', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parsePythonJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('reads any text with numbers that are none beside it', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parsePythonJson(`{"n": NaN, "text": ${JSON.stringify(text)}}`)).toEqual({ n: 'NaN', text });
      }),
    );
  });
});
