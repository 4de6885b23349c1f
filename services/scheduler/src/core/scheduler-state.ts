import { attemptsLimit, NEW_ATTEMPT_BYTES, reservedBytes } from '@runledger/contracts/fold/log-capacity';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { OrgId } from '@runledger/contracts/ids';
import { Durations } from './durations.ts';
import { FormerExecutors } from './former-executors.ts';
import { DrainedNames, emptyFleet, type Fleet } from './fleet.ts';
import { LiveRuns, type LiveRunsSettings } from './runs/live-runs.ts';
import { SharedRequests } from './runs/known-run.ts';
import { SlotAllocation, type RunName } from './slot-allocation.ts';

export interface SchedulingSettings extends LiveRunsSettings {
  /** An executor without a heartbeat for this connected time is lost. */
  readonly heartbeatPeriodMs: number;
}

/**
 * Everything that the scheduler knows. `decide.ts` and the files `on-….ts` apply an input and return decisions. They mutate the
 * state, because it indexes a million runs.
 */
export interface SchedulerState {
  readonly settings: SchedulingSettings;
  readonly runs: LiveRuns;
  readonly requests: SharedRequests;
  readonly fleet: Fleet;
  readonly former: FormerExecutors;
  readonly drained: DrainedNames;
  readonly orphans: OrphanedRuns;
  readonly capacity: LogCapacity;
  readonly starts: RecentStarts;
  readonly durations: Durations;
  leading: boolean;
  /** The broker's clock at the last tick, in milliseconds; 0 before the first. */
  nowMs: number;
  /** Connected time of the last tick. */
  connectedMs: number;
  /** Connected time before which no deadline counts, so that facts that executors could not store before can arrive. */
  deadlinesFromMs: number;
}

export const emptyState = (settings: SchedulingSettings): SchedulerState => {
  const allocation = new SlotAllocation();
  return {
    settings,
    runs: new LiveRuns(allocation, settings),
    requests: new SharedRequests(),
    fleet: emptyFleet(allocation, settings.cancelEnforceMs),
    former: new FormerExecutors(),
    drained: new DrainedNames(),
    orphans: new OrphanedRuns(),
    capacity: newLogCapacity(),
    starts: new RecentStarts(),
    durations: new Durations(),
    leading: false,
    nowMs: 0,
    connectedMs: 0,
    deadlinesFromMs: 0,
  };
};

/** What the log can hold of new attempts. */
interface LogCapacity {
  /** The last size of the log; undefined before the first. */
  size: { readonly bytes: number; readonly maxBytes: number } | undefined;
  /** Assignments that the size may not have yet: those decided since then, and those that were being stored. */
  assignments: number;
  /** A run waits only because there was no room. */
  isShort: boolean;
}

const newLogCapacity = (): LogCapacity => ({ size: undefined, assignments: 0, isShort: false });

/** Whether one more attempt, and all that accepted runs may still write, fit into the log. */
export const fitsAnotherAttempt = ({ capacity, runs }: SchedulerState): boolean => {
  const { size, assignments } = capacity;
  if (!size) return true;
  const needed = reservedBytes(runs.counts()) + (assignments + 1) * NEW_ATTEMPT_BYTES;
  return size.bytes + needed <= attemptsLimit(size.maxBytes);
};

export const setLogSize = (
  { capacity, runs }: SchedulerState,
  size: NonNullable<LogCapacity['size']>,
): void => {
  capacity.size = size;
  capacity.assignments = runs.counts().assigning;
};

/**
 * Runs that execute on unknown executors. Facts of runs and facts of executors arrive in any order, so such a run has a
 * full heartbeat period before its executor counts as lost.
 */
class OrphanedRuns {
  readonly #since = new Map<RunName, number>();

  add(run: RunName, now: number): void {
    if (!this.#since.has(run)) this.#since.set(run, now);
  }

  remove(run: RunName): void {
    if (this.#since.size > 0) this.#since.delete(run);
  }

  reset(now: number): void {
    for (const run of this.#since.keys()) this.#since.set(run, now);
  }

  clear(): void {
    this.#since.clear();
  }

  /** Removes and returns those that have waited a whole period. */
  takeAfter(periodMs: number, now: number): RunName[] {
    const expired: RunName[] = [];
    for (const [run, since] of this.#since) {
      if (now - since < periodMs) break;
      expired.push(run);
      this.#since.delete(run);
    }
    return expired;
  }
}

const MINUTES = 10;
const MINUTE_MS = 60_000;

/** By GPU model and organisation: how many runs got a slot in each of the last ten minutes of the broker's clock. */
class RecentStarts {
  readonly #byGpu = new Map<GpuModel, Map<string, CountByMinute>>();
  /** The latest minute. */
  #minute = 0;

  add({ gpu, org_id }: { readonly gpu: GpuModel; readonly org_id: OrgId }, atMs: number): void {
    const minute = minuteOf(atMs);
    if (minute <= this.#minute - MINUTES) return;
    if (minute > this.#minute) this.#forgetBefore(minute);
    const byOrg = this.#byGpu.get(gpu) ?? new Map<string, CountByMinute>();
    this.#byGpu.set(gpu, byOrg);
    const counts = byOrg.get(org_id) ?? new CountByMinute();
    byOrg.set(org_id, counts);
    counts.add(minute);
  }

  /** Of one organisation, or of all. `nowMs` is the broker's clock. */
  perMinute(gpu: GpuModel, org_id: string | null, nowMs: number): number {
    const now = Math.max(nowMs, this.#minute * MINUTE_MS);
    const byOrg = this.#byGpu.get(gpu);
    const of = org_id === null ? [...(byOrg?.values() ?? [])] : [byOrg?.get(org_id)];
    const started = of.reduce((sum, counts) => sum + (counts?.upTo(minuteOf(now)) ?? 0), 0);
    // The present minute has only begun.
    const minutes = now / MINUTE_MS - minuteOf(now) + MINUTES - 1;
    return Math.round((started / minutes) * 100) / 100;
  }

  /** Organisations and models come and go. */
  #forgetBefore(minute: number): void {
    this.#minute = minute;
    for (const [gpu, byOrg] of this.#byGpu) {
      for (const [org_id, counts] of byOrg) if (counts.upTo(minute) === 0) byOrg.delete(org_id);
      if (byOrg.size === 0) this.#byGpu.delete(gpu);
    }
  }
}

class CountByMinute {
  readonly #counts = new Map<number, number>();

  add(minute: number): void {
    this.#counts.set(minute, (this.#counts.get(minute) ?? 0) + 1);
    for (const before of this.#counts.keys()) if (before <= minute - MINUTES) this.#counts.delete(before);
  }

  /** In the minutes that end with this one. */
  upTo(minute: number): number {
    let sum = 0;
    for (const [at, count] of this.#counts) if (at > minute - MINUTES) sum += count;
    return sum;
  }
}

const minuteOf = (ms: number): number => Math.floor(ms / MINUTE_MS);
