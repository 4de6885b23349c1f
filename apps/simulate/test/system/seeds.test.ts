import { describe, expect, it } from 'vitest';
import { findViolation } from '../../src/simulation/find-violation.ts';
import { randomPlan } from '../../src/plan/random-plan.ts';
import { simulate } from '../../src/simulation/simulate.ts';
import type { SimulationCounts } from '../../src/simulation/watch.ts';

/** Each takes some 50 ms of one core. */
const SEEDS = 1_000;
const SEEDS_OF_ONE = 100;
const first = Array.from({ length: SEEDS / SEEDS_OF_ONE }, (_, n) => n * SEEDS_OF_ONE);

describe('a thousand small plans with random faults', () => {
  it.each(first)(`violate nothing: ${SEEDS_OF_ONE} from seed %i on`, { timeout: 120_000 }, (from) => {
    for (let seed = from; seed < from + SEEDS_OF_ONE; seed += 1) {
      const found = findViolation(randomPlan(seed));
      if (!found) continue;
      const repeat = `"npm run simulate -- --seed ${seed}" stores the plan as a test.`;
      expect.fail([found.violation.what, repeat, ...found.story].join('\n'));
    }
  });

  it('reach the situations that matter', () => {
    const all = Array.from({ length: 100 }, (_, seed) => simulate(randomPlan(seed)).counts);
    const sum = (count: keyof SimulationCounts): number =>
      all.reduce((total, counts) => total + counts[count], 0);
    expect(sum('runs')).toBeGreaterThan(500);
    expect(sum('retries')).toBeGreaterThan(25);
    expect(sum('lostExecutors')).toBeGreaterThan(25);
    expect(sum('takeovers')).toBeGreaterThan(75);
    expect(sum('warm')).toBeGreaterThan(25);
    expect(sum('onOtherModels')).toBeGreaterThan(25);
    expect(sum('delayed')).toBeGreaterThan(25);
  });
});

it('the same plan gives the same simulation, step by step', () => {
  const play = (seed: number): string[] => {
    const told: string[] = [];
    simulate(randomPlan(seed), { tell: (atMs, text) => told.push(`${atMs} ${text}`) });
    return told;
  };
  expect(play(3)).toEqual(play(3));
  expect(play(3)).not.toEqual(play(4));
});
