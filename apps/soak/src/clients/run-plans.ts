import { setTimeout as pause } from 'node:timers/promises';
import type { Clients } from './run-client.ts';
import type { RunPlan } from './plan.ts';

const SWEEP_EVERY_MS = 20_000;

/** Every client of the plans, each at its time. Resolves when all of them are through, or have given up. */
export const runPlans = async (
  { runPlan: carryOut, cancelSweptRuns: sweep }: Clients,
  plans: readonly RunPlan[],
  begunAt = performance.now(),
): Promise<void> => {
  const all: Promise<void>[] = [];
  let sweepAt = SWEEP_EVERY_MS;
  for (const plan of plans) {
    await pause(Math.max(0, begunAt + plan.at - performance.now()));
    all.push(carryOut(plan));
    if (plan.at >= sweepAt) {
      sweepAt += SWEEP_EVERY_MS;
      all.push(sweep());
    }
  }
  await Promise.all(all);
};
