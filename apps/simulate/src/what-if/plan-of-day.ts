import type { Run } from '@runledger/contracts/fold/run';
import type { Plan, PlannedRun } from '../plan/plan.ts';
import type { Names } from '../statistics/play-plan.ts';
import type { CapturedDay } from './captured-day.ts';
import type { FairShareSettings } from './changes.ts';
import { deploymentsOf } from './deployments-of-day.ts';
import { durationsOf, type Duration } from './durations-of-day.ts';
import { needsOf } from './needs-of-day.ts';
import { plannedFleet } from './planned-fleet.ts';

export interface DayPlan {
  readonly plan: Plan;
  readonly names: Names;
}

interface Tried extends FairShareSettings {
  readonly gpus: ReadonlyMap<string, number>;
}

const SEED = 1;

/** What the simulator plays: the runs of the day at their times and for as long as they took, on its executors or on others. */
export const planOfDay = (day: CapturedDay, { weights, limits, gpus }: Tried): DayPlan => {
  const { runs, header } = day;
  const beginMs = Date.parse(header.lead_in_from);
  const organisations = [...new Set(runs.map(({ org_id }) => org_id))];
  const needs = needsOf(day);
  const deployments = deploymentsOf(runs, { organisations, needs });
  const durationOf = durationsOf(runs, Date.parse(header.to));
  return {
    plan: {
      seed: SEED,
      heartbeatPeriodMs: 30_000,
      cancelEnforceMs: 20_000,
      delayMs: 2,
      schedulers: [{}],
      ...plannedFleet(day, { gpus, needs }),
      organisations: organisations.map((id) => {
        const limit = limits.get(id);
        return { weight: weights.get(id) ?? 1, ...(limit !== undefined && { limit }) };
      }),
      deployments: deployments.planned,
      runs: runs
        .map((run, id) => ({
          ...plannedRun(run, durationOf(run)),
          id,
          atMs: arrivalMs(run) - beginMs,
          deployment: deployments.numberOf(run),
        }))
        .toSorted((a, b) => a.atMs - b.atMs),
    },
    names: { organisations, deployments: deployments.ids },
  };
};

/** When it was queued, or the later time at which it asked to enter the queue. */
export const arrivalMs = ({ created_at, request: { start_at, delay_s = 0 } }: Run): number => {
  const createdMs = Date.parse(created_at);
  return start_at === undefined ? createdMs + delay_s * 1_000 : Math.max(createdMs, Date.parse(start_at));
};

const plannedRun = (
  run: Run,
  { loadMs, durationMs }: Duration,
): Omit<PlannedRun, 'id' | 'atMs' | 'deployment'> => {
  const { priority, concurrency_key } = run.request;
  const crashes = run.earlier_attempts.filter(
    ({ error }) => error.kind !== 'executor_lost' && error.kind !== 'executor_left',
  ).length;
  return {
    loadMs,
    durationMs,
    ...(priority !== undefined && { priority }),
    ...(concurrency_key !== undefined && { key: concurrency_key }),
    ...(crashes > 0 && { crashes }),
    ...(run.status === 'cancelled' && {
      cancelAfterMs: Math.max(0, Date.parse(run.ended_at) - arrivalMs(run)),
    }),
  };
};
