import { anyCharacter } from '@runledger/contracts/test/fixtures/any-character';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutLines } from '../../../src/runners/output/cut-lines.ts';

const lines = (limit: number, chunks: Buffer[]): { text: string; cut: boolean }[] => {
  const cutter = cutLines(limit);
  return [...chunks.flatMap((chunk) => cutter.push(chunk)), ...cutter.end()].map(({ text, cut }) => ({
    text,
    cut,
  }));
};

describe('the lines of a stream', () => {
  it('do not depend on how the stream was cut into chunks', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.oneof(fc.constantFrom('\r', '\n'), fc.string({ unit: anyCharacter, minLength: 1 })),
        }),
        fc.array(fc.nat(40)),
        (text, cuts) => {
          const whole = Buffer.from(text);
          const edges = [
            0,
            ...cuts.map((cut) => cut % (whole.length + 1)).toSorted((a, b) => a - b),
            whole.length,
          ];
          const chunks = edges.slice(1).map((edge, index) => whole.subarray(edges[index], edge));
          expect(lines(8, chunks)).toEqual(lines(8, [whole]));
        },
      ),
    );
  });

  it('are cut at the limit and marked as cut', () => {
    expect(lines(4, [Buffer.from('12345678\n1234\n\n1')])).toEqual([
      { text: '1234', cut: true },
      { text: '1234', cut: false },
      { text: '', cut: false },
      { text: '1', cut: false },
    ]);
  });

  it('show what was drawn last', () => {
    const bar = Buffer.from('\r 0%\r50%\r\n\r10%\rdone\nnext\rlast');
    expect(lines(4, [bar]).map(({ text }) => text)).toEqual(['50%', 'done', 'last']);
  });

  it('may end with CRLF', () => {
    expect(lines(9, [Buffer.from('one\r\ntwo\r\n')]).map(({ text }) => text)).toEqual(['one', 'two']);
  });
});
