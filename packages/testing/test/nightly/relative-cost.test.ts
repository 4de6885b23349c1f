import { expect, it } from 'vitest';
import { relativeCost } from '../../src/measuring.ts';

const hash = (length: number) => (): number => {
  let sum = 0;
  for (let n = 0; n < length; n += 1) sum = Math.imul(sum ^ n, 16_777_619);
  return sum;
};

it('four times the work has about four times the cost', () => {
  const ratio = relativeCost(hash(40_000)) / relativeCost(hash(10_000));
  expect(ratio).toBeGreaterThan(3);
  expect(ratio).toBeLessThan(5);
});
