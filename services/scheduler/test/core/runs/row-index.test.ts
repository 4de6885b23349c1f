import fc from 'fast-check';
import { expect, it } from 'vitest';
import { UUID_WORDS } from '../../../src/core/runs/packed-rows.ts';
import { RowIndex } from '../../../src/core/runs/row-index.ts';

const ROWS = 200;

it('an index knows the rows of an id after any change, also when ids differ little or two rows have one', () => {
  const ids = new Uint32Array(ROWS * UUID_WORDS);
  for (let row = 0; row < ROWS; row += 1) ids.set([7, 0, 0, row >> 1], row * UUID_WORDS);
  const reserved = fc.constantFrom(0, 1, ROWS, 100_000);
  const change = fc.record({ row: fc.nat({ max: ROWS - 1 }), adds: fc.boolean() });
  fc.assert(
    fc.property(reserved, fc.array(change, { maxLength: 400, size: 'max' }), (reserved, changes) => {
      const index = new RowIndex({ wordsOf: () => ids, firstWordOf: (row) => row * UUID_WORDS });
      if (reserved > 0) index.reserve(reserved);
      const known = new Set<number>();
      for (const { row, adds } of changes) {
        if (adds && !known.has(row)) index.add(row);
        else if (!adds) index.delete(row);
        if (adds) known.add(row);
        else known.delete(row);
      }
      for (let row = 0; row < ROWS; row += 1) {
        const found = index.find(ids, row * UUID_WORDS, (one) => one === row);
        expect(found).toBe(known.has(row) ? row : undefined);
      }
    }),
  );
});
