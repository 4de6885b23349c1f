import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  NOTHING_CHOSEN,
  retentionOf,
  retentionProblems,
  type ChosenRetention,
} from '../../../src/records/retention.decide.ts';

const USUAL = { log: 7, runs: 90, outputs: 90 };
const chosen = (runs_days: number | null, outputs_days: number | null = null): ChosenRetention => ({
  runs_days,
  outputs_days,
});
const problemsOf = (requested: ChosenRetention, installation = USUAL) =>
  retentionProblems(requested, requested, installation).map(({ member, why }) => `${member}: ${why}`);

describe('the retention of an organisation', () => {
  it('that chose nothing is that of the installation', () => {
    expect(retentionOf(NOTHING_CHOSEN, USUAL)).toEqual({
      runs_days: { days: 90, chosen: null, least: 7, most: 90 },
      outputs_days: { days: 90, chosen: null, least: 1, most: 90 },
    });
  });

  it('is what it chose, and files go with their runs at the latest', () => {
    expect(retentionOf(chosen(30, 10), USUAL)).toEqual({
      runs_days: { days: 30, chosen: 30, least: 7, most: 90 },
      outputs_days: { days: 10, chosen: 10, least: 1, most: 30 },
    });
    expect(retentionOf(chosen(30), USUAL).outputs_days).toEqual({
      days: 30,
      chosen: null,
      least: 1,
      most: 30,
    });
  });

  it('is as long as the log keeps facts, when that was raised later, and says what was chosen', () => {
    const { runs_days, outputs_days } = retentionOf(chosen(10, 5), { ...USUAL, log: 20.5 });
    expect(runs_days).toEqual({ days: 21, chosen: 10, least: 21, most: 90 });
    expect(outputs_days.days).toBe(5);
    expect(retentionOf(chosen(10), { ...USUAL, log: Infinity }).runs_days).toEqual({
      days: null,
      chosen: 10,
      least: null,
      most: 90,
    });
  });

  it('is never longer than that of an installation that was shortened later', () => {
    const { runs_days, outputs_days } = retentionOf(chosen(60, 50), { log: 7, runs: 40, outputs: 0.1 });
    expect([runs_days.days, outputs_days.days, outputs_days.most]).toEqual([40, 1, 1]);
  });

  it.each([
    [
      'fewer days than the log',
      chosen(6),
      'runs_days: the log has the facts of a run for 7 days, and the run is kept as long: choose 7 or more',
    ],
    [
      'more days than the installation',
      chosen(91),
      'runs_days: this installation keeps runs for 90 days: choose 90 or less',
    ],
    [
      'files for longer than runs',
      chosen(30, 31),
      'outputs_days: files are kept no longer than their runs (30 days) and than the store of output files keeps them (90 days): choose 30 or less',
    ],
  ])('cannot be %s', (_what, requested, problem) => {
    expect(problemsOf(requested)).toEqual([problem]);
  });

  it('cannot be chosen while the log keeps facts without end', () => {
    expect(problemsOf(chosen(30), { ...USUAL, log: Infinity })).toEqual([
      'runs_days: the log has the facts of a run for all time, and the run is kept as long: leave it out',
    ]);
  });

  it('is not refused for what an earlier request chose', () => {
    const before = chosen(5, 80);
    expect(retentionProblems({ outputs_days: 3 }, { ...before, outputs_days: 3 }, USUAL)).toEqual([]);
    expect(retentionProblems({ runs_days: null }, { ...before, runs_days: null }, USUAL)).toEqual([]);
  });

  it('is exactly what was requested, or was refused', () => {
    const days = fc.option(fc.integer({ min: 1, max: 200 }));
    const installations = fc.record({
      log: fc.double({ min: 0.01, max: 100, noNaN: true }),
      runs: fc.integer({ min: 1, max: 200 }),
      outputs: fc.double({ min: 0.01, max: 200, noNaN: true }),
    });
    fc.assert(
      fc.property(days, days, installations, (runs, outputs, installation) => {
        const requested = chosen(runs, outputs);
        const { runs_days, outputs_days } = retentionOf(requested, installation);
        expect(runs_days.days).toBeGreaterThanOrEqual(installation.log);
        expect(outputs_days.days ?? 0).toBeLessThanOrEqual(runs_days.days ?? 0);
        if (retentionProblems(requested, requested, installation).length > 0) return;
        expect([runs_days.days, outputs_days.days]).toEqual([
          runs ?? runs_days.days,
          outputs ?? outputs_days.days,
        ]);
      }),
    );
  });
});
