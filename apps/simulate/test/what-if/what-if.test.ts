import { describe, expect, it } from 'vitest';
import { playScenario } from '../../src/pictures/scenario.ts';
import { foldDay, type CapturedDay } from '../../src/what-if/captured-day.ts';
import type { Changes } from '../../src/what-if/changes.ts';
import { describeModel, describeSlice } from '../../src/what-if/describe-day.ts';
import { drawDay } from '../../src/what-if/draw-day.ts';
import { measureDay, type MeasuredDay } from '../../src/what-if/measure-day.ts';
import { playDays } from '../../src/what-if/played-days.ts';
import { capturedSlice } from '../fixtures/captured-slice.ts';

const HOUR_MS = 3_600_000;
const NOTHING = { weights: new Map(), limits: new Map() };

/** An hour of two organisations, as the log would have it. */
const anHour = async (toMs = HOUR_MS) => {
  const runs = playScenario({
    slots: 4,
    organisations: [{ name: 'bulk' }, { name: 'single' }],
    arrivals: [
      { deployment: 'bulk', fromMinute: 1, count: 60, everyMinutes: 0, minutes: [1, 3] },
      { deployment: 'single', fromMinute: 5, count: 40, everyMinutes: 1, minutes: [1, 3] },
    ],
  });
  const { lines, idOf } = capturedSlice(runs, { slots: 4, toMs });
  const day = await foldDay(
    (async function* () {
      yield* lines;
    })(),
  );
  return { day, idOf };
};

const measured = (day: CapturedDay, changes?: Partial<Changes>): MeasuredDay[] =>
  playDays(day, NOTHING, changes && { ...NOTHING, gpus: new Map(), ...changes }).map((played) =>
    measureDay(day.header, played),
  );

describe('a captured day', () => {
  it('is repeated by the simulator with the same settings', async () => {
    const { day, idOf } = await anHour();
    const [recorded, simulated] = measured(day);
    expect(recorded?.runs).toHaveLength(100);
    for (const name of ['bulk', 'single']) {
      const [was, is] = [recorded, simulated].map((of) => of?.waits.get(idOf(name)));
      expect(is?.runs).toBe(was?.runs);
      expect(Math.abs((is?.p50 ?? 0) - (was?.p50 ?? 0))).toBeLessThan(30_000);
    }
  });

  it('shows what a weight, a limit and more GPUs would change', async () => {
    const { day, idOf } = await anHour();
    const waitOf = (changes: Partial<Changes>, name: string): number =>
      measured(day, changes)[2]?.waits.get(idOf(name))?.p90 ?? Number.NaN;
    const [, simulated] = measured(day);
    const bulk = simulated?.waits.get(idOf('bulk'))?.p90 ?? Number.NaN;
    expect(waitOf({ weights: new Map([[idOf('bulk'), 3]]) }, 'bulk')).toBeLessThan(bulk);
    expect(waitOf({ limits: new Map([[idOf('bulk'), 1]]) }, 'bulk')).toBeGreaterThan(bulk);
    expect(waitOf({ gpus: new Map([['L4', 100]]) }, 'bulk')).toBeLessThan(2_000);
  });

  it('is described in words and drawn, each time the same', async () => {
    const { day } = await anHour();
    const days = measured(day, { gpus: new Map([['L4', 8]]) });
    expect(describeSlice(day, days[0]).join()).toContain('100 runs of 2 organisations');
    expect(describeModel(days).join()).toContain('The model: with the settings of that day');
    const drawn = drawDay(day.header, days);
    expect(drawn.map(({ file }) => file)).toEqual([
      'waits.svg',
      'slots.svg',
      'utilisation.svg',
      'fairness.svg',
    ]);
    expect(drawDay(day.header, days)).toEqual(drawn);
  });

  it('has runs that had not ended, for as long as others of their deployment', async () => {
    const { day } = await anHour(HOUR_MS / 4);
    const open = day.runs.filter(({ status }) => status !== 'success');
    expect(open.length).toBeGreaterThan(4);
    const [recorded, simulated] = measured(day);
    expect(simulated?.runs).toHaveLength(recorded?.runs.length ?? 0);
  });

  it('leaves out runs whose beginning it does not have, and counts them', async () => {
    const run = {
      organisation: 'a',
      deployment: 'a',
      gpu: 'L4',
      queuedMs: 1,
      assignedMs: 2,
      endedMs: 9,
      slot: null,
    };
    const { lines } = capturedSlice([run, { ...run, queuedMs: 3, assignedMs: 4 }], {
      slots: 1,
      toMs: HOUR_MS,
    });
    const first = lines.findIndex((line) => line.kind === 'fact' && line.stream === 'RUNS');
    const day = await foldDay(
      (async function* () {
        yield* lines.toSpliced(first, 1);
      })(),
    );
    expect(day).toMatchObject({ older: 1, runs: [{ status: 'success' }] });
  });
});
