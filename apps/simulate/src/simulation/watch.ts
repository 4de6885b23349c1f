import { CoreJudge } from '@runledger/scheduler/invariants/core-judge';
import { organisationOf, runOf } from '../plan/ids.ts';
import type { World } from '../broker/world.ts';
import type { Stored } from '../broker/run-log.ts';
import type { Violate } from '../checks/violation.ts';
import type { SchedulerWatcher, WatchedScheduler } from '../scheduler/watcher.ts';

const NOTHING = {
  /** Runs that were accepted. */
  runs: 0,
  /** Attempts after the first one of their run. */
  retries: 0,
  /** Attempts in slots that had their version loaded. */
  warm: 0,
  /** Attempts on a GPU model that is not the first one of their list. */
  onOtherModels: 0,
  /** Runs that may start later than they were queued. */
  delayed: 0,
  /** Runs that a gateway ended because the log forgot them, or was about to. */
  expired: 0,
  /** Final notifications that were settled. */
  notified: 0,
  lostExecutors: 0,
  takeovers: 0,
};

export type SimulationCounts = typeof NOTHING;

export const noCounts = (): SimulationCounts => ({ ...NOTHING });

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
  const leadsSince = new Map<string, number>();
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
    onInput: (scheduler, input, decisions) => {
      if (input.type === 'lead') {
        counts.takeovers += 1;
        leadsSince.set(scheduler.name, timeline.now);
      }
      checks.get(scheduler)?.onInput(input, decisions);
    },
    // An executor is lost after a whole period without a heartbeat in which the scheduler led and was connected.
    onLoss: ({ name, process }, { executor, readAtMs, lastAtMs = 0 }) => {
      counts.lostExecutors += 1;
      const since = Math.max(
        lastAtMs,
        leadsSince.get(name) ?? 0,
        Math.min(process.until('cut'), readAtMs),
        Math.min(broker.upSince, readAtMs),
      );
      const waitedMs = (readAtMs - since) * process.clockRate;
      if (waitedMs >= plan.heartbeatPeriodMs) return;
      const seconds = Math.round(waitedMs) / 1_000;
      violate('losses', `${name} declares ${executor} lost after ${seconds} s without a heartbeat`);
    },
    onGap: (scheduler, sequence) =>
      violate('one-result', `${scheduler.name} misses a message before number ${sequence}`),
  };
};
