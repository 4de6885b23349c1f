import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IndexedPriorityQueue } from '../../../src/core/runs/indexed-priority-queue.ts';

describe('an indexed priority queue', () => {
  it('knows the item with the lowest rank after any change', () => {
    const change = fc.record({ item: fc.nat({ max: 20 }), rank: fc.option(fc.integer()) });
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const set = new IndexedPriorityQueue<number>();
        const plain = new Map<number, number>();
        for (const { item, rank } of changes) {
          if (rank === null) {
            set.delete(item);
            plain.delete(item);
          } else {
            set.set(item, rank);
            plain.set(item, rank);
          }
          expect(set.size).toBe(plain.size);
          expect(set.first()?.rank).toBe(plain.size > 0 ? Math.min(...plain.values()) : undefined);
        }
      }),
    );
  });
});
