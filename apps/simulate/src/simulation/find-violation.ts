import type { Violation } from '../checks/violation.ts';
import type { StoredPlan } from '../plan/plan.ts';
import { shrink } from './shrink.ts';
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

export const storyLine = (atMs: number, text: string): string =>
  `${(atMs / 1_000).toFixed(3).padStart(9)} s  ${text}`;

const MOST_LINES = 120;

/** What happened until the violation, in the order of time and in words. */
export const storyOf = (plan: StoredPlan): string[] => {
  const told: string[] = [];
  const tell = (atMs: number, text: string): void => void told.push(storyLine(atMs, text));
  const { violation } = simulate(plan, { tell });
  if (violation) tell(violation.atMs, `VIOLATED ${violation.check}: ${violation.what}`);
  const shown = told.slice(-MOST_LINES);
  return [
    `${plan.schedulers.length} schedulers, ${describeSlots(plan)}, ${plan.runs.length} runs, ${plan.faults.length} faults:`,
    ...(shown.length < told.length ? [`(${told.length - shown.length} earlier lines are left out)`] : []),
    ...shown,
  ];
};

const describeSlots = ({ executors }: StoredPlan): string =>
  `executors with ${executors.map(describeExecutor).join('; ') || 'no slots'}`;

const describeExecutor = ({ slots, labels }: StoredPlan['executors'][number]): string =>
  `${slots.join(' and ')}${labels ? ` (${labels.join(', ')})` : ''}`;
