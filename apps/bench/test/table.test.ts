import { describe, expect, it } from 'vitest';
import { comparison, table, threeDigits } from '../src/report/table.ts';

const lineOf = (text: string, title: string): string[] =>
  (text.split('\n').find((line) => line.includes(title)) ?? '').split('|').map((cell) => cell.trim());

const cpuOf = (cpu: number): { readonly cpu: number } => ({ cpu });

describe('the table of the rounds', () => {
  it('shows the median, the lowest and the highest of each figure that was measured', () => {
    const text = table([{ runs: 300 }, { runs: 500 }, { runs: 350, cpu: 4.1234 }]);
    expect(lineOf(text, 'completed runs')).toEqual(['', 'completed runs', '350/s', '300 to 500', '']);
    expect(lineOf(text, 'processor time of a completed run')[2]).toBe('4.12 ms');
    expect(text).not.toContain('event streams');
  });

  it('rounds to what a measurement knows', () => {
    expect([14_163, 0.4051, 7_500, 0].map(threeDigits)).toEqual(['14,200', '0.405', '7,500', '0']);
  });
});

describe('the comparison of two states', () => {
  it('is the median of the ratios of rounds that followed each other, which a slower machine does not change', () => {
    const before = [{ runs: 100 }, { runs: 200 }, { runs: 50 }, { runs: 100 }];
    const after = [{ runs: 200 }, { runs: 420 }, { runs: 95 }, { runs: 200 }];
    expect(lineOf(comparison(before, after), 'completed runs')).toEqual([
      '',
      'completed runs',
      '100/s',
      '200/s',
      '2 (1.9 to 2.1)',
      'better',
      '',
    ]);
  });

  it('knows that less is better for times', () => {
    const text = comparison([2, 2, 2, 2].map(cpuOf), [3, 2.5, 4, 3].map(cpuOf));
    expect(lineOf(text, 'processor time of a completed run').at(-2)).toBe('worse');
  });

  it('says nothing when the rounds do not agree', () => {
    const text = comparison([2, 2, 2, 2].map(cpuOf), [3, 3, 3, 1.9].map(cpuOf));
    expect(lineOf(text, 'processor time of a completed run').at(-2)).toBe('');
  });

  it('says nothing of few rounds, or of a small change', () => {
    for (const after of [
      [3, 3, 3],
      [2.05, 2.06, 2.04, 2.03],
    ]) {
      const text = comparison(
        after.map(() => cpuOf(2)),
        after.map(cpuOf),
      );
      expect(lineOf(text, 'processor time of a completed run').at(-2)).toBe('');
    }
  });

  it('leaves out what only one of them measured', () => {
    expect(comparison([{ runs: 1 }], [{ runs: 1, streams: 5 }])).not.toContain('event streams');
  });
});
