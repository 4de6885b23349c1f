import { CoreJudge } from '@runledger/scheduler/invariants/core-judge';
import { organisationOf, runOf } from '../plan/ids.ts';
import type { World } from '../broker/world.ts';
import type { Stored } from '../broker/run-log.ts';
import { LossCheck } from '../checks/loss-check.ts';
import type { Violate } from '../checks/violation.ts';
import type { SchedulerWatcher, WatchedScheduler } from '../scheduler/watcher.ts';

export interface SimulationCounts {
  /** Runs that were accepted. */
  runs: number;
  /** Attempts after the first one of their run. */
  retries: number;
  /** Attempts in slots that had their version loaded. */
  warm: number;
  /** Attempts on a GPU model that is not the first one of their list. */
  onOtherModels: number;
  /** Runs that may start later than they were queued. */
  delayed: number;
  /** Runs that a gateway ended because the log forgot them, or was about to. */
  expired: number;
  /** Final notifications that were settled. */
  notified: number;
  lostExecutors: number;
  takeovers: number;
}

export const noCounts = (): SimulationCounts => ({
  runs: 0,
  retries: 0,
  warm: 0,
  onOtherModels: 0,
  delayed: 0,
  expired: 0,
  notified: 0,
  lostExecutors: 0,
  takeovers: 0,
});

export const countFact = (counts: SimulationCounts, { event }: Stored): void => {
  if (event.type === 'RunQueued') {
    counts.runs += 1;
    if (event.data.delay_s !== undefined || event.data.start_at !== undefined) counts.delayed += 1;
  }
  if (event.type === 'RunExpired') counts.expired += 1;
  if (event.type !== 'RunAssigned') return;
  if (event.attempt > 1) counts.retries += 1;
  const { choice, gpu_index = 0 } = event.data.reason ?? {};
  if (choice === 'warm') counts.warm += 1;
  if (gpu_index > 0) counts.onOtherModels += 1;
};

export interface WatchOptions {
  readonly counts: SimulationCounts;
  readonly violate: Violate;
  readonly compareEveryMs: number;
}

/** Checks and counts what schedulers do. */
export const watchSchedulers = (
  world: World,
  { counts, violate, compareEveryMs }: WatchOptions,
): SchedulerWatcher => {
  const { plan, timeline, broker } = world;
  const checks = new Map<WatchedScheduler, CoreJudge>();
  const losses = new LossCheck(plan, broker, violate);
  return {
    onStarted: (scheduler) => {
      // Of its life before it, nothing counts any more.
      for (const each of checks.keys()) if (each.name === scheduler.name) checks.delete(each);
      const judge = new CoreJudge({
        scheduling: scheduler.scheduling,
        shareOf: (org_id) => {
          const { weight = 1, limit = Infinity } = plan.organisations[organisationOf(org_id)] ?? {};
          return { weight, limit };
        },
        heartbeatPeriodMs: plan.heartbeatPeriodMs,
        instantOf: Date.parse,
        nameOf: (run_id) => String(runOf(run_id)),
        violate: (check, what) => violate(check, `${scheduler.name}: ${what}`),
        ...(compareEveryMs > 0 && { sample: { everyMs: compareEveryMs, now: () => timeline.now } }),
      });
      checks.set(scheduler, judge);
    },
    onTaken: (scheduler, input, decisions) => {
      if (input.type === 'lead') {
        counts.takeovers += 1;
        losses.onLead(scheduler, timeline.now);
      }
      checks.get(scheduler)?.onTaken(input, decisions);
    },
    onLoss: (scheduler, loss) => {
      counts.lostExecutors += 1;
      losses.onLoss(scheduler, loss);
    },
    onGap: (scheduler, sequence) =>
      violate('one-result', `${scheduler.name} misses a message before number ${sequence}`),
  };
};
