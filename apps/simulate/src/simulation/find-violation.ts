import type { Violation } from '../checks/violation.ts';
import type { StoredPlan } from '../plan/plan.ts';
import { storyOf } from './story.ts';
import { shrink } from '../shrink/shrink.ts';
import { simulate } from './simulate.ts';

const MOST_TRIES = 1_500;

export interface Found {
  readonly violation: Violation;
  /** The smallest plan that was found to violate the same. */
  readonly plan: StoredPlan;
  readonly story: readonly string[];
}

/** Undefined when the plan violates nothing. */
export const findViolation = (plan: StoredPlan): Found | undefined => {
  const { violation } = simulate(plan);
  if (!violation) return undefined;
  const fails = (smaller: StoredPlan): boolean => simulate(smaller).violation?.check === violation.check;
  const smallest = shrink(plan, { fails, most: MOST_TRIES });
  return { violation, plan: smallest, story: storyOf(smallest) };
};
