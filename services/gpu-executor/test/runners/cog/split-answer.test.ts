import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerSplitter, fileMark } from '../../../src/runners/cog/split-answer.decide.ts';

const NONCE = 'n0nce';

interface Split {
  readonly answer: unknown;
  readonly files: readonly { readonly type: string; readonly content: string }[];
}

const split = (json: string, chunkBytes: number, maxLogs = 1_000_000): Split => {
  const bytes = Buffer.from(json);
  const splitter = new AnswerSplitter(NONCE, maxLogs);
  const text: Uint8Array[] = [];
  const files: { readonly type: string; readonly content: Uint8Array[] }[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    for (const part of splitter.push(bytes.subarray(at, at + chunkBytes))) {
      if (part.kind === 'json') text.push(part.bytes);
      else if (part.kind === 'file') files.push({ type: part.type, content: [] });
      else files.at(-1)?.content.push(part.bytes);
    }
  }
  return {
    answer: JSON.parse(Buffer.concat(text).toString()),
    files: files.map(({ type, content }) => ({ type, content: Buffer.concat(content).toString('latin1') })),
  };
};

const dataUrl = (type: string, content: string): string =>
  `data:${type};base64,${Buffer.from(content, 'latin1').toString('base64')}`;

const chunkBytes = fc.integer({ min: 1, max: 40 });
const strange = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom(
    'data:',
    'data: my notes, all',
    'data:image/png;base64',
    'data:image/png,plain',
    '"\\"',
    'a\\',
  ),
);

describe('the answer of a server', () => {
  it('is the same without files, whatever its chunks', () => {
    const value = fc.record({
      logs: strange,
      output: fc.oneof(strange, fc.array(strange), fc.dictionary(strange, strange)),
      error: strange,
    });
    fc.assert(
      fc.property(value, chunkBytes, (answer, bytes) => {
        expect(split(JSON.stringify(answer), bytes)).toEqual({
          answer: JSON.parse(JSON.stringify(answer)),
          files: [],
        });
      }),
    );
  });

  it('gives the data URLs of its output as files, in their order', () => {
    const content = fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
    fc.assert(
      fc.property(fc.array(content, { maxLength: 4 }), chunkBytes, (contents, bytes) => {
        const output = contents.map((each) => dataUrl('image/png', each));
        expect(split(JSON.stringify({ id: 'a', output, status: 'succeeded' }), bytes)).toEqual({
          answer: {
            id: 'a',
            output: contents.map((_, number) => fileMark(NONCE, number)),
            status: 'succeeded',
          },
          files: contents.map((each) => ({ type: 'image/png', content: each })),
        });
      }),
    );
  });

  it('takes no file from what was sent or printed', () => {
    const url = dataUrl('image/png', 'picture');
    expect(split(JSON.stringify({ input: { a: url, output: url }, logs: url, output: null }), 7)).toEqual({
      answer: { input: { '': '' }, logs: url, output: null },
      files: [],
    });
  });

  it('keeps whole lines of long logs, and what follows them', () => {
    const { answer } = split(JSON.stringify({ logs: 'one "1"\ntwo\nthree\n', output: 'x' }), 5, 10);
    expect(answer).toEqual({ logs: 'one "1"\n', output: 'x' });
  });
});
