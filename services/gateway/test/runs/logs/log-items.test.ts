import type { LogChunk } from '@runledger/contracts/run-logs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineFromEnd, logItems, type AttemptLines } from '../../../src/runs/logs.decide.ts';

const AT = Date.parse('2026-01-01T00:00:00.000Z');
const BYTES = 8;

/** Lines `line 0` and so on, in chunks of these sizes. */
const chunksOf = (...sizes: readonly number[]): LogChunk[] => {
  let first = 0;
  return sizes.map((size) => {
    const lines = Array.from({ length: size }, (_, at): LogChunk['lines'][number] => [
      AT + first + at,
      'stdout',
      `line ${first + at}`,
      false,
    ]);
    const chunk = { first, before: first * BYTES, bytes: size * BYTES, lines };
    first += size;
    return chunk;
  });
};
const shown = (lines: AttemptLines, line = 0): (string | object)[] =>
  [...logItems({ attempt: 2, line }, lines, String)].map(({ item }) => {
    if ('line' in item) return item.line;
    return 'cut' in item ? item.cut : item;
  });

describe('the lines of a log', () => {
  it('are shown from any place on, and what follows an item is the rest', () => {
    const chunks = chunksOf(3, 1, 4);
    const all = [...logItems({ attempt: 2, line: 0 }, { chunks }, String)];
    expect(all.map(({ item }) => 'line' in item && item.line)).toEqual(
      Array.from({ length: 8 }, (_, at) => `line ${at}`),
    );
    for (const [index, { next }] of all.entries()) {
      expect([...logItems(next, { chunks }, String)]).toEqual(all.slice(index + 1));
    }
  });

  it('say what is missing between them, at their beginning and at their end', () => {
    const [head, lost, middle, tail] = chunksOf(2, 3, 1, 2);
    if (!head || !lost || !middle || !tail) throw new Error('no chunks');
    expect(shown({ chunks: [head, middle], written: { lines: 8, bytes: 64 } })).toEqual([
      'line 0',
      'line 1',
      { lines: 3, bytes: 24 },
      'line 5',
      { lines: 2, bytes: 16 },
    ]);
    expect(shown({ chunks: [tail] })[0]).toEqual({ lines: 6, bytes: 48 });
    expect(shown({ chunks: [head, tail] }, 4)).toEqual([{ lines: 2, bytes: 32 }, 'line 6', 'line 7']);
    expect(shown({ chunks: [], written: { lines: 3, bytes: 24 } })).toEqual([{ lines: 3, bytes: 24 }]);
  });

  it('are each shown or counted as missing, whatever is lost', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(sizes, fc.infiniteStream(fc.boolean()), fc.nat({ max: 40 }), (given, kept, from) => {
        const chunks = chunksOf(...given).filter(() => kept.next().value);
        const lines = given.reduce((sum, size) => sum + size, 0);
        const items = shown({ chunks, written: { lines, bytes: lines * BYTES } }, from);
        const counted = items.reduce<number>(
          (sum, item) => sum + (typeof item === 'object' && 'lines' in item ? Number(item.lines) : 1),
          0,
        );
        expect(counted).toBe(Math.max(lines - from, 0));
      }),
    );
  });

  it('begin with the notice', () => {
    expect(shown({ chunks: chunksOf(1), notice: 'not kept' })).toEqual([
      { attempt: 2, notice: 'not kept' },
      'line 0',
    ]);
    expect(shown({ chunks: chunksOf(2), notice: 'not kept' }, 1)).toEqual(['line 1']);
  });

  it('are counted from their end', () => {
    const chunks = chunksOf(3, 1, 4);
    expect([1, 4, 5, 8, 9].map((lines) => lineFromEnd({ chunks }, lines))).toEqual([7, 4, 3, 0, 0]);
  });
});
