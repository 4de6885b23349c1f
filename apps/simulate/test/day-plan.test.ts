import { expect, it } from 'vitest';
import { dayPlan } from '../src/plan/day-plan.ts';
import { Summary } from '../src/simulation/summary.ts';
import type { RunResult } from '../src/simulation/results.ts';
import { simulate } from '../src/simulation/simulate.ts';

const DAY = { seed: 1, runs: 1_000, gpus: 12, organisations: 5, faults: 10 };

it('a day has its runs in the order of their times, and the same ones each time', () => {
  const { runs } = dayPlan(DAY);
  const all = [...runs];
  expect(all).toHaveLength(DAY.runs);
  expect(all.map(({ atMs }) => atMs)).toEqual(all.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
  expect([...runs]).toEqual(all);
});

it('a small day violates nothing, and every run has a result', () => {
  const plan = dayPlan({ ...DAY, runs: 100, gpus: 4, faults: 3 });
  const summary = new Summary(plan);
  const results: RunResult[] = [];
  const simulated = simulate(plan, {
    compareEveryMs: 60_000,
    onResult: (result) => {
      results.push(result);
      summary.add(result);
    },
  });
  expect(simulated.violation).toBeUndefined();
  expect(new Set(results.map(({ run }) => run)).size).toBeGreaterThanOrEqual(100);
  const text = summary.lines(simulated, 1_000).join('\n');
  expect(text).toContain('all');
  expect(text).toMatch(/slots 4, used \d+\.\d %/);
});
