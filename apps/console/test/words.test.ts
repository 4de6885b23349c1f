import { describe, expect, it } from 'vitest';
import { ago, bytes, counted, seconds } from '../src/ui/words.ts';

describe('words for numbers', () => {
  it.each([
    [0.4213, '0.42 s'],
    [8.06, '8.1 s'],
    [59.9, '59 s'],
    [200, '3 min 20 s'],
    [7_500, '2 h 5 min'],
    [273_600, '3 d 4 h'],
    [-3, '0.00 s'],
  ])('are %d seconds: %s', (value, words) => {
    expect(seconds(value)).toBe(words);
  });

  it.each([
    [0, 'now'],
    [5_000, '5 s ago'],
    [-90_000, 'in 1 min'],
    [3_600_000, '1 h ago'],
    [5 * 86_400_000, '5 d ago'],
  ])('are a time %d ms ago: %s', (passed, words) => {
    expect(ago(1_000_000_000_000 - passed, 1_000_000_000_000)).toBe(words);
  });

  it('are sizes and counts', () => {
    expect([0, 512, 1_536, 20_971_520].map(bytes)).toEqual(['0 B', '512 B', '1.5 KiB', '20 MiB']);
    expect([counted(1, 'run'), counted(1_200, 'run')]).toEqual(['1 run', '1,200 runs']);
  });
});
