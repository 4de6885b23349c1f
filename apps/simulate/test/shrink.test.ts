import { describe, expect, it } from 'vitest';
import { randomPlan } from '../src/plan/random-plan.ts';
import type { StoredPlan } from '../src/plan/plan.ts';
import { shrink } from '../src/shrink/shrink.ts';

const withFaults = Array.from({ length: 100 }, (_, seed) => randomPlan(seed)).find(
  ({ faults, runs, executors }) => faults.length > 4 && runs.length > 20 && executors.length > 2,
);

describe('a plan that fails', () => {
  it('shrinks to the runs and faults that matter', () => {
    const plan = withFaults;
    if (!plan) throw new Error('no seed has such a plan');
    const [fault, run] = [plan.faults[2], plan.runs[7]];
    const fails = ({ faults, runs }: StoredPlan): boolean =>
      faults.some(({ kind }) => kind === fault?.kind) && runs.some(({ id }) => id === run?.id);
    const smallest = shrink(plan, { fails, most: 2_000 });
    expect(smallest.faults).toHaveLength(1);
    expect(smallest.runs.map(({ id }) => id)).toEqual([run?.id]);
    expect(smallest.executors.length + smallest.schedulers.length).toBeLessThanOrEqual(2);
    expect(smallest.runs[0]?.durationMs).toBeLessThan(100);
  });

  it('stays as it is when everything matters', () => {
    const plan = randomPlan(1);
    expect(shrink(plan, { fails: (smaller) => smaller === plan, most: 500 })).toBe(plan);
  });

  it('keeps faults with their executors when another one is removed', () => {
    const plan: StoredPlan = {
      ...randomPlan(1),
      executors: [{ slots: ['A10G'] }, { slots: ['H100'] }],
      faults: [{ atMs: 1, kind: 'kill', who: 'executor 1', forMs: 1 }],
    };
    const fails = ({ executors, faults }: StoredPlan): boolean =>
      faults.some(({ who }) => executors[Number(who?.split(' ')[1])]?.slots[0] === 'H100');
    expect(shrink(plan, { fails, most: 500 }).faults).toMatchObject([{ who: 'executor 0' }]);
  });
});
