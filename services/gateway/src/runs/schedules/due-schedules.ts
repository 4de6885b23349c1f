import { Schedule } from '@runledger/contracts/catalogue/schedules';
import { observedGauge } from '@runledger/service-kit/metrics';
import { acquireLease, LEASE_TTL_MS } from '@runledger/coordination/lease';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/observability';
import { openBucket, type Bucket } from '@runledger/event-log/streams/bucket';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { Refused } from '../../door/refusal.ts';
import { ViewsUnavailable } from '../../views/run-views.ts';
import {
  handleSchedule,
  queueTime,
  scheduleMetrics,
  type HandleSchedule,
  type ScheduleMetrics,
} from './queue-time.ts';
import type { Kit } from '../../kit.ts';
import type { Runs } from '../runs.ts';
import { orgOfKey } from '../../records/schedule-records.ts';

interface Keeping {
  readonly handle: HandleSchedule;
  readonly brokerNow: () => Promise<number>;
  readonly metrics: ScheduleMetrics;
  readonly logger: Logger;
}

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
  const bucket = openBucket(log, 'SCHEDULES', Schedule);
  const metrics = scheduleMetrics(kit.metrics.registry);
  const handle = handleSchedule(kit, { bucket, queueTime: queueTime(kit, runs), brokerNow, metrics });
  const keeping: Keeping = { handle, brokerNow, metrics, logger };
  const stop = new AbortController();
  let index: DueIndex | undefined;
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        const lease = await acquireLease(
          log,
          { name: LEASE, holder: instance, ttlMs: LEASE_TTL_MS },
          stop.signal,
        );
        index = dueIndex(bucket);
        try {
          await keepTime(keeping, index, AbortSignal.any([stop.signal, lease.lost]));
        } finally {
          index = undefined;
          await lease.release();
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        logger[isAway(error) ? 'debug' : 'error']({ err: error }, 'schedules are interrupted; trying again');
        await sleep(CHECK_EVERY_MS, stop.signal);
      }
    }
  };
  const running = run();
  observedGauge(kit.metrics.registry, {
    name: 'runledger_gateway_schedules',
    help: 'Schedules of all organisations that this gateway keeps; 0 while another gateway does.',
    value: () => index?.size() ?? 0,
  });
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      // While the broker is unavailable, this may take too long. Then it ends with the connection.
      await within(STOP_WITHIN_MS, running, () => undefined);
    },
  };
};

const keepTime = async (keeping: Keeping, index: DueIndex, ended: AbortSignal): Promise<void> => {
  const inProgress = new Map<string, Promise<void>>();
  try {
    while (!ended.aborted) {
      await index.refresh();
      const now = await keeping.brokerNow();
      for (const key of chosen(index.dueBy(now), inProgress)) {
        inProgress.set(
          key,
          handleOne(keeping, index, key).finally(() => inProgress.delete(key)),
        );
      }
      await Promise.race([sleep(untilNext(index, now), ended), ...inProgress.values()]);
    }
  } finally {
    await Promise.all(inProgress.values());
  }
};

const LEAST_SLEEP_MS = 10;

/** Those that are due and not begun begin when one of the others ends. */
const untilNext = (index: DueIndex, now: number): number =>
  Math.max(Math.min((index.firstAfter(now) ?? Infinity) - now, CHECK_EVERY_MS), LEAST_SLEEP_MS);

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
const handleOne = async (
  { handle, brokerNow, metrics, logger }: Keeping,
  index: DueIndex,
  key: string,
): Promise<void> => {
  try {
    index.set(key, await handle(key));
  } catch (error) {
    metrics.failed();
    logger[isAway(error) ? 'debug' : 'error'](
      { err: error, key },
      'a schedule could not be handled; trying again',
    );
    const now = await brokerNow().catch(() => undefined);
    if (now !== undefined) index.postpone(key, now + RETRY_AFTER_MS);
  }
};

/** It passes, or the outcome of the schedule says why it does not. */
const isAway = (error: unknown): boolean =>
  error instanceof LogUnavailable || error instanceof ViewsUnavailable || error instanceof Refused;

/** When each schedule of all organisations is to be handled next, in milliseconds since 1970. */
interface DueIndex {
  /** Reads what was written since the last call; at first everything. @throws {LogUnavailable} */
  refresh(): Promise<void>;
  /** The keys of those that are to be handled by then. */
  dueBy(now: number): string[];
  /** When the next one after that is to be handled; undefined when none is. */
  firstAfter(now: number): number | undefined;
  /** Undefined for a schedule that was deleted. */
  set(key: string, schedule: Schedule | undefined): void;
  /** To be handled at this time, whatever the schedule says. */
  postpone(key: string, until: number): void;
  size(): number;
}

const dueIndex = (bucket: Bucket<Schedule>): DueIndex => {
  const dueAt = new Map<string, number>();
  let upTo: number | undefined;
  const set = (key: string, schedule: Schedule | undefined): void => {
    if (schedule) dueAt.set(key, whenDue(schedule));
    else dueAt.delete(key);
  };
  const add = ({ key, value, revision }: { key: string; value: Schedule; revision: number }): void => {
    set(key, value);
    upTo = Math.max(upTo ?? 0, revision);
  };
  return {
    refresh: async () => {
      // A list ends after some thousands. The others follow one by one.
      if (upTo === undefined) {
        (await bucket.list()).forEach(add);
        upTo ??= 0;
      }
      for (;;) {
        const entry = await bucket.next('', upTo);
        if (!entry) return;
        add(entry);
      }
    },
    dueBy: (now) => [...dueAt].filter(([, at]) => at <= now).map(([key]) => key),
    firstAfter: (now) => {
      let first = Number.POSITIVE_INFINITY;
      for (const at of dueAt.values()) if (at > now) first = Math.min(first, at);
      return Number.isFinite(first) ? first : undefined;
    },
    set,
    postpone: (key, until) => {
      if (dueAt.has(key)) dueAt.set(key, until);
    },
    size: () => dueAt.size,
  };
};

/** Due times are handled at once; a paused schedule never is. */
const whenDue = ({ due, next_at }: Schedule): number => {
  if (due.length > 0) return Number.NEGATIVE_INFINITY;
  return next_at === null ? Number.POSITIVE_INFINITY : Date.parse(next_at);
};
