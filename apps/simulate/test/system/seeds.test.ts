import { casesOf } from '@runledger/testing/random/cases';
import { describe, expect, it } from 'vitest';
import { findViolation } from '../../src/simulation/find-violation.ts';
import { randomPlan } from '../../src/plan/random-plan.ts';
import { simulate, type Simulated } from '../../src/simulation/simulate.ts';
import { GATE_SEEDS } from './gate-seeds.ts';
import type { SimulationCounts } from '../../src/simulation/watch.ts';

const SEEDS_OF_ONE = 100;
const first = Array.from({ length: casesOf(GATE_SEEDS) / SEEDS_OF_ONE }, (_, n) => n * SEEDS_OF_ONE);

const played = new Map<number, readonly Simulated[]>();

/** A hundred seeds, each of which is played once. */
const playedFrom = (from: number): readonly Simulated[] => {
  const known = played.get(from);
  if (known) return known;
  const now = Array.from({ length: SEEDS_OF_ONE }, (_, n) => simulate(randomPlan(from + n)));
  played.set(from, now);
  return now;
};

describe('small plans with random faults', () => {
  it.each(first)(`violate nothing: ${SEEDS_OF_ONE} from seed %i on`, { timeout: 120_000 }, (from) => {
    for (const [n, { violation }] of playedFrom(from).entries()) {
      if (!violation) continue;
      const seed = from + n;
      const found = findViolation(randomPlan(seed));
      const repeat = `"npm run simulate -- --seed ${seed}" stores the plan as a test.`;
      expect.fail([violation.what, repeat, ...(found?.story ?? [])].join('\n'));
    }
  });

  it('reach the situations that matter', () => {
    const all = playedFrom(0).map(({ counts }) => counts);
    const sum = (count: keyof SimulationCounts): number =>
      all.reduce((total, counts) => total + counts[count], 0);
    expect(sum('runs')).toBeGreaterThan(500);
    expect(sum('retries')).toBeGreaterThan(25);
    expect(sum('lostExecutors')).toBeGreaterThan(25);
    expect(sum('takeovers')).toBeGreaterThan(75);
    expect(sum('warm')).toBeGreaterThan(25);
    expect(sum('onOtherModels')).toBeGreaterThan(25);
    expect(sum('delayed')).toBeGreaterThan(25);
    expect(sum('expired')).toBeGreaterThan(25);
    expect(sum('notified')).toBeGreaterThan(250);
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
