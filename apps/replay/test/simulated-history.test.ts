import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoredPlan } from '@runledger/simulate/plan/plan';
import { randomPlan } from '@runledger/simulate/plan/random-plan';
import { casesOf } from '@runledger/testing/random/cases';
import { expect, it } from 'vitest';
import { shadowed } from './fixtures/sample-slice.ts';
import { simulatedSlice } from './fixtures/simulated-slice.ts';

const SEEDS = casesOf(12);

/** Without faults, with right clocks, a log that keeps everything, and nothing that stays loaded: what is left depends on facts, and on the order of messages. */
const calmPlan = (seed: number): StoredPlan => {
  const { gateway: _gateway, ...plan } = randomPlan(seed);
  return {
    ...plan,
    schedulers: [{}],
    executors: plan.executors.map(({ slots, labels }) => ({ slots, ...(labels && { labels }) })),
    deployments: plan.deployments.map(
      ({ version: _version, warm_wait_s: _warmWait, ...deployment }) => deployment,
    ),
    runs: plan.runs.map((run) => ({ ...run, loadMs: 0 })),
    faults: [],
  };
};

it('of decisions that the core of the scheduler itself made in a simulation, fewer than one in fifty seem to differ', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-simulated-'));
  const counts = { compared: 0, differences: 0 };
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const options = await simulatedSlice(calmPlan(seed), join(folder.path, `${seed}.ndjson.zst`));
    const { compared } = await shadowed(options);
    counts.compared += compared.compared;
    counts.differences += compared.differences;
  }
  expect(counts.compared).toBeGreaterThan(8 * SEEDS);
  expect(counts.differences).toBeLessThan(counts.compared / 50);
});
