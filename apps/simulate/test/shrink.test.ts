import { describe, expect, it } from 'vitest';
import { randomPlan } from '../src/plan/random-plan.ts';
import type { StoredPlan } from '../src/plan/plan.ts';
import { shrink } from '../src/simulation/shrink.ts';

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

  it('loses what makes its runs choosy, when that does not matter', () => {
    const plain = { organisation: 0, gpu: 'A10G', max_attempts: 1, start_deadline_s: 600, run_timeout_s: 60 };
    const run = { id: 1, atMs: 0, deployment: 0, durationMs: 10, loadMs: 0 };
    const choosy: StoredPlan = {
      ...randomPlan(1),
      organisations: [{ weight: 1, limit: 1 }],
      executors: [{ slots: ['A10G'], labels: ['nvlink'] }],
      deployments: [
        {
          ...plain,
          gpu_fallbacks: [
            { gpu: 'L4', after_s: 1 },
            { gpu: 'H100', after_s: 2 },
          ],
          labels: ['nvlink'],
          version: 1,
          warm_wait_s: 10,
        },
        { ...plain, weight: 3, labels: ['nvlink'] },
      ],
      runs: [
        { ...run, delay_s: 3 },
        { ...run, id: 2, startAtMs: 5_000 },
      ],
    };
    const smallest = shrink(choosy, {
      fails: ({ runs, executors }) => runs.length + executors.length === 3,
      most: 500,
    });
    expect(smallest.organisations).toEqual([{ weight: 1 }]);
    expect(smallest.deployments).toEqual([plain, plain]);
    expect(smallest.executors).toEqual([{ slots: ['A10G'] }]);
    expect(smallest.runs).toEqual([run, { ...run, id: 2 }]);
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
