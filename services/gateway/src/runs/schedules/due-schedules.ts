import type { Schedule } from '@runledger/contracts/catalogue/schedules';
import { observedGauge } from '@runledger/service-kit/metrics';
import { withLease } from '@runledger/coordination/lease';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import { openTable, type Followed, type TableIndex } from '@runledger/event-log/table/table';
import { inBackground, sleep } from '@runledger/resilience/abort';
import { Refused } from '../../door/refusal.ts';
import { ViewsUnavailable } from '../../views/run-views.ts';
import { handleSchedule, type ScheduleHandling } from './queue-time.ts';
import type { Kit } from '../../kit.ts';
import type { Runs } from '../runs.ts';
import { orgOfKey, SCHEDULES } from '../../records/schedule-records.ts';

const LEASE = 'schedules';
/** A schedule that is created or changed is seen within this time. */
const CHECK_EVERY_MS = 1_000;
const RETRY_AFTER_MS = 5_000;
const STOP_WITHIN_MS = 1_000;
const MAX_IN_PROGRESS = 64;
/** So that the schedules of one organisation do not hold up those of the others. */
const MAX_IN_PROGRESS_OF_ONE = 4;

/**
 * Handles schedules when their times come, until it is disposed of. Of several gateways one does it. The lease saves work and protects
 * nothing: a time that two of them handle queues one run.
 */
export const startSchedules = (
  kit: Kit,
  runs: Runs,
  /** In milliseconds since 1970. */
  brokerNow: () => Promise<number>,
  /** The holder of the lease, for people. */
  instance: string,
): AsyncDisposable => {
  const { log, logger } = kit;
  const schedules = openTable(log, { ...SCHEDULES, keep: whenDue });
  const handling = { kit, runs, bucket: schedules, brokerNow };
  let due: DueTimes | undefined;
  const running = inBackground(async (stop) => {
    while (!stop.aborted) {
      try {
        await withLease(log, { name: LEASE, holder: instance }, stop, (ended) => {
          due = dueTimes(schedules);
          return keepTime(handling, due, ended);
        });
      } catch (error) {
        if (stop.aborted) return;
        logger[isAway(error) ? 'debug' : 'error']({ err: error }, 'schedules are interrupted; trying again');
        await sleep(CHECK_EVERY_MS, stop);
      } finally {
        due = undefined;
      }
    }
  }, STOP_WITHIN_MS);
  observedGauge(kit.metrics.registry, {
    name: 'runledger_gateway_schedules',
    help: 'Schedules of all organisations that this gateway keeps; 0 while another gateway does.',
    value: () => due?.size() ?? 0,
  });
  return running;
};

const keepTime = async (handling: ScheduleHandling, due: DueTimes, ended: AbortSignal): Promise<void> => {
  const inProgress = new Map<string, Promise<void>>();
  try {
    while (!ended.aborted) {
      const now = await handling.brokerNow();
      for (const key of chosen(await due.dueBy(now), inProgress)) {
        inProgress.set(
          key,
          handleOne(handling, due, key).finally(() => inProgress.delete(key)),
        );
      }
      await Promise.race([sleep(untilNext(due, now), ended), ...inProgress.values()]);
    }
  } finally {
    await Promise.all(inProgress.values());
  }
};

const LEAST_SLEEP_MS = 10;

/** Those that are due and not begun begin when one of the others ends. */
const untilNext = (due: DueTimes, now: number): number =>
  Math.max(Math.min(due.firstAfter(now) - now, CHECK_EVERY_MS), LEAST_SLEEP_MS);

/** Those to begin now. */
const chosen = (due: readonly string[], inProgress: ReadonlyMap<string, unknown>): string[] => {
  const counts = new Map<string, number>();
  for (const key of inProgress.keys()) counts.set(orgOfKey(key), (counts.get(orgOfKey(key)) ?? 0) + 1);
  const begun: string[] = [];
  for (const key of due) {
    if (inProgress.size + begun.length >= MAX_IN_PROGRESS) break;
    const count = counts.get(orgOfKey(key)) ?? 0;
    if (inProgress.has(key) || count >= MAX_IN_PROGRESS_OF_ONE) continue;
    counts.set(orgOfKey(key), count + 1);
    begun.push(key);
  }
  return begun;
};

/** Never rejects. */
const handleOne = async (handling: ScheduleHandling, due: DueTimes, key: string): Promise<void> => {
  try {
    if (!(await handleSchedule(handling, key))) due.postpone(key, Infinity);
  } catch (error) {
    handling.kit.metrics.schedules.failed();
    handling.kit.logger[isAway(error) ? 'debug' : 'error'](
      { err: error, key },
      'a schedule could not be handled; trying again',
    );
    const now = await handling.brokerNow().catch(() => undefined);
    if (now !== undefined) due.postpone(key, now + RETRY_AFTER_MS);
  }
};

/** It passes, or the outcome of the schedule says why it does not. */
const isAway = (error: unknown): boolean =>
  error instanceof LogUnavailable || error instanceof ViewsUnavailable || error instanceof Refused;

/** When each schedule of all organisations is to be handled next, in milliseconds since 1970. */
interface DueTimes {
  /** The keys of those that are to be handled by then, with every acknowledged change. @throws {LogUnavailable} */
  dueBy(now: number): Promise<string[]>;
  /** When the next one after that is to be handled; infinite when none is. */
  firstAfter(now: number): number;
  /** Not before this time, unless it changes. It is infinite for one that is gone. */
  postpone(key: string, until: number): void;
  size(): number;
}

const dueTimes = (schedules: Followed<number>): DueTimes => {
  let known: TableIndex<number> | undefined;
  const postponed = new Map<string, { readonly revision: number; readonly until: number }>();
  const times = (): [key: string, at: number][] =>
    Array.from(known?.all() ?? [], ({ key, revision, value }) => {
      const later = postponed.get(key);
      if (later?.revision === revision) return [key, later.until];
      postponed.delete(key);
      return [key, value];
    });
  return {
    dueBy: async (now) => {
      known = await schedules.now();
      return times().flatMap(([key, at]) => (at <= now ? [key] : []));
    },
    firstAfter: (now) =>
      times().reduce((first, [, at]) => (at > now ? Math.min(first, at) : first), Infinity),
    postpone: (key, until) => {
      const present = known?.get(key);
      if (present) postponed.set(key, { revision: present.revision, until });
    },
    size: () => known?.size ?? 0,
  };
};

/** Due times are handled at once; a paused schedule never is. */
const whenDue = ({ due, next_at }: Schedule): number => {
  if (due.length > 0) return Number.NEGATIVE_INFINITY;
  return next_at === null ? Number.POSITIVE_INFINITY : Date.parse(next_at);
};
