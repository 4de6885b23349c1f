import type { Plan } from '../plan/plan.ts';
import { simulate } from './simulate.ts';
import type { PlayedRun } from '../statistics.ts';

/** Names of what a plan numbers. */
export interface Names {
  readonly organisations: readonly string[];
  readonly deployments: readonly string[];
}

/** All runs and slots are compared so often: these plans are there to be looked at, and not to find defects. */
const COMPARE_EVERY_MS = 600_000;

/** Plays a plan and gives its runs in the order of their ends. @throws when it violates what must hold */
export const playPlan = (plan: Plan, { organisations, deployments }: Names): PlayedRun[] => {
  const runs: PlayedRun[] = [];
  const { violation } = simulate(plan, {
    compareEveryMs: COMPARE_EVERY_MS,
    onResult: ({ organisation, deployment, gpu, queuedMs, assignedMs, endedMs, slot }) => {
      const [name, ofDeployment] = [organisations[organisation], deployments[deployment]];
      // Behind those of the plan are probes of the simulator.
      if (name === undefined || ofDeployment === undefined) return;
      runs.push({ organisation: name, deployment: ofDeployment, gpu, queuedMs, assignedMs, endedMs, slot });
    },
  });
  if (violation) throw new Error(`The simulation violates ${violation.check}: ${violation.what}`);
  return runs;
};
