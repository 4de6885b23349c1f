import { describe, expect, it } from 'vitest';
import { readProgressLine } from '../../../src/runners/output/progress-line.ts';

describe('a line of a model', () => {
  it.each([
    ['step 3/20', 0.15, 'step 3/20'],
    ['Iteration 3 of 12 (loss 0.1)', 0.25, 'Iteration 3 of 12 (loss 0.1)'],
    [' 12%|███▌   | 3/25 [00:01<00:07,  2.1it/s]', 0.12, '3/25'],
    ['Sampling:  50%|#####     | 5/10', 0.5, 'Sampling 5/10'],
    ['Loading weights: 37.5%|███▊', 0.375, 'Loading weights'],
    ['100%|██████████|', 1, null],
  ])('says how far it is: %s', (line, progress, status) => {
    expect(readProgressLine(line)).toEqual({ progress, status });
  });

  it.each([
    '',
    'seed 1/2 used',
    'step 21/20',
    'step 0/0',
    '99% of the time',
    '120%|██',
    `${'x'.repeat(2_000)} step 1/2`,
  ])('says nothing about it: %s', (line) => {
    expect(readProgressLine(line)).toBeNull();
  });
});
