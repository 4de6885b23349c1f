import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stderrTail } from '../../../src/runners/output/read-streams.ts';

const last = (limit: number, ...chunks: (string | Buffer)[]): string => {
  const tail = stderrTail(limit);
  for (const chunk of chunks) tail.push(Buffer.from(chunk));
  return tail.text();
};

describe('the end of standard error', () => {
  it('is the end of what the program wrote', () => {
    expect(last(10, 'a long trace: ', 'no', ' memory')).toBe('no memory');
  });

  it('is the same however it was written', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 40 })), (chunks) => {
        expect(last(16, ...chunks)).toBe(chunks.join('').slice(-16));
      }),
    );
  });

  it('begins with a whole character', () => {
    expect(last(5, '\u{1F600}\u{1F600}')).toBe('\u{1F600}');
    expect(last(3, 'aé€')).toBe('€');
  });

  it('has no terminal colours or other control characters', () => {
    expect(last(99, '\u001B[31mred\u001B[0m\u0000\u0007 and\tplain\n')).toBe('red and\tplain');
  });

  it('is valid UTF-8 within the limit for any bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), (chunks) => {
        const text = last(16, ...chunks.map((chunk) => Buffer.from(chunk)));
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16);
        expect(text.isWellFormed()).toBe(true);
      }),
    );
  });
});
