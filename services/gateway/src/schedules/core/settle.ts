import { MAX_OPEN_RUNS, type Schedule, type ScheduleOutcome } from '@runledger/contracts/catalogue/schedules';
import { latest } from './advance.ts';

/** What came of due times, in their order. */
export interface HandledTimes {
  readonly outcomes: readonly ScheduleOutcome[];
  /** Earlier runs that were found to have ended. */
  readonly ended: ReadonlySet<string>;
}

/**
 * Gives due times their outcomes. When two gateways handled a time at once, a run of it was queued if one of them queued it, whatever
 * the other one stored before.
 */
export const settle = (schedule: Schedule, { outcomes, ended }: HandledTimes): Schedule => {
  const due = new Set(schedule.due);
  const settled = new Set(outcomes.map(({ time }) => time));
  const queued = outcomes.filter(({ outcome }) => outcome === 'queued');
  const queuedAt = new Map(queued.map((outcome) => [outcome.time, outcome]));
  const before = schedule.outcomes.map((one) => (one.times > 1 ? one : (queuedAt.get(one.time) ?? one)));
  const added = outcomes.filter(({ time }) => due.has(time));
  const begun = queued.flatMap(({ run_id }) => (run_id === null ? [] : [run_id]));
  const open = schedule.open_runs.filter((run_id) => !ended.has(run_id));
  return {
    ...schedule,
    due: schedule.due.filter((time) => !settled.has(time)),
    open_runs: [...new Set([...open, ...begun])].slice(-MAX_OPEN_RUNS),
    outcomes: latest([...added, ...before]),
  };
};
