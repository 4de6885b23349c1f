import { setTimeout as pause } from 'node:timers/promises';
import type { RunPlan } from './plan.ts';
import type { Clients } from './run-client.ts';

const BULK_CANCEL_EVERY_MS = 20_000;
const DRAIN_EVERY_MS = 30_000;
const CREATE_EVERY_MS = 8_000;
const DEPLOY_EVERY_MS = 24_000;

/** Starts each plan at its time. Resolves when all clients are done or have given up. */
export const runPlans = async (
  { runPlan, cancelInBulk, drainForAWhile, createVersion, deployAndDelete }: Clients,
  plans: readonly RunPlan[],
): Promise<void> => {
  const begunAt = performance.now();
  const all: Promise<void>[] = [];
  let bulkCancelAt = BULK_CANCEL_EVERY_MS;
  let drainAt = DRAIN_EVERY_MS;
  let createAt = CREATE_EVERY_MS;
  let deployAt = DEPLOY_EVERY_MS / 2;
  // One after the other: of two for the same name, one would resume it too early.
  let draining = Promise.resolve();
  for (const plan of plans) {
    await pause(Math.max(0, begunAt + plan.at - performance.now()));
    all.push(runPlan(plan));
    if (plan.at >= bulkCancelAt) {
      bulkCancelAt += BULK_CANCEL_EVERY_MS;
      all.push(cancelInBulk());
    }
    if (plan.at >= createAt) {
      createAt += CREATE_EVERY_MS;
      all.push(createVersion());
    }
    if (plan.at >= deployAt) {
      deployAt += DEPLOY_EVERY_MS;
      all.push(deployAndDelete());
    }
    if (plan.at >= drainAt) {
      drainAt += DRAIN_EVERY_MS;
      draining = draining.then(drainForAWhile);
    }
  }
  await Promise.all([...all, draining]);
};
