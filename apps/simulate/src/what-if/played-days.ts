import { gpuOf, isEnded } from '@runledger/contracts/fold/run';
import { playPlan } from '../simulation/play-plan.ts';
import type { PlayedRun } from '../statistics.ts';
import type { CapturedDay } from './captured-day.ts';
import type { Changes, FairShareSettings } from './changes.ts';
import { arrivalMs, planOfDay } from './plan-of-day.ts';

/** The runs of a day as they were, or as the simulator plays them. Times are in milliseconds since the slice begins. */
export interface PlayedDay {
  readonly title: string;
  readonly runs: readonly PlayedRun[];
  readonly weights: ReadonlyMap<string, number>;
  /** By GPU model: how many slots there were on average. */
  readonly slots: ReadonlyMap<string, number>;
}

/** As it was, played with the settings of that day, and with other ones if there are any. */
export const playDays = (
  day: CapturedDay,
  before: FairShareSettings,
  changes: Changes | undefined,
): PlayedDay[] => {
  const { weights } = before;
  const slots = slotsOf(day);
  const same = planOfDay(day, { ...before, gpus: new Map() });
  const days = [
    recordedDay(day, weights),
    { title: 'simulated', runs: playPlan(same.plan, same.names), weights, slots },
  ];
  if (!changes) return days;
  const after = {
    weights: new Map([...weights, ...changes.weights]),
    limits: new Map([...before.limits, ...changes.limits]),
    gpus: changes.gpus,
  };
  const changed = planOfDay(day, after);
  return [
    ...days,
    {
      title: 'with the changes',
      runs: playPlan(changed.plan, changed.names),
      weights: after.weights,
      slots: new Map([...slots, ...changes.gpus]),
    },
  ];
};

/** As it was, with the weights that the schedulers had. */
export const recordedDay = (day: CapturedDay, weights: ReadonlyMap<string, number>): PlayedDay => ({
  title: 'that day',
  runs: recordedRuns(day),
  weights,
  slots: slotsOf(day),
});

const recordedRuns = ({ runs, header }: CapturedDay): PlayedRun[] => {
  const [beginMs, toMs] = [Date.parse(header.warm_up_from), Date.parse(header.to)];
  return runs.map((run) => ({
    organisation: run.org_id,
    deployment: run.request.deployment_id,
    gpu: gpuOf(run),
    queuedMs: Math.min(arrivalMs(run), isEnded(run) ? Date.parse(run.ended_at) : toMs) - beginMs,
    assignedMs: run.attempt === null ? null : Date.parse(run.attempt.assigned_at) - beginMs,
    endedMs: (isEnded(run) ? Date.parse(run.ended_at) : toMs) - beginMs,
    slot: run.attempt && `${run.attempt.executor_id} slot ${run.attempt.slot}`,
  }));
};

const slotsOf = ({ header, fleet }: CapturedDay): ReadonlyMap<string, number> => {
  const [fromMs, toMs] = [Date.parse(header.from), Date.parse(header.to)];
  const slots = new Map<string, number>();
  for (const executor of fleet.executors) {
    const presentMs = Math.min(executor.toMs, toMs) - Math.max(executor.fromMs, fromMs);
    if (presentMs <= 0) continue;
    for (const gpu of executor.slots) slots.set(gpu, (slots.get(gpu) ?? 0) + presentMs / (toMs - fromMs));
  }
  return slots;
};
