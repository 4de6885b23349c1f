import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Weights } from '../../../src/core/runs/weights.ts';

describe('the weights of flows', () => {
  it('are known together, and the greatest of them, whatever came and went', () => {
    const change = fc.record({ weight: fc.integer({ min: 1, max: 5 }), leaves: fc.nat() });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const weights = new Weights();
        const present: number[] = [];
        for (const { weight, leaves } of changes) {
          weights.add(weight);
          present.push(weight);
          if (leaves % 3 > 0) weights.delete(present.splice(leaves % present.length, 1)[0] ?? 0);
          expect(weights.total).toBe(present.reduce((sum, one) => sum + one, 0));
          expect(weights.greatest).toBe(Math.max(0, ...present));
        }
      }),
    );
  });
});
