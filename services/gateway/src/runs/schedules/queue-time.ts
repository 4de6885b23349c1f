import { isDeepStrictEqual } from 'node:util';
import type { Schedule, ScheduleOutcome } from '@runledger/contracts/catalogue/schedules';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import { isEnded } from '@runledger/contracts/fold/run';
import { statusOf } from '@runledger/contracts/http/refusal-codes';
import { MAX_SCHEDULE_MESSAGE } from '@runledger/contracts/limits';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { Bucket, Entry } from '@runledger/event-log/streams/bucket';
import { Counter, Histogram, type Metrics } from '@runledger/service-kit/metrics';
import { Refused, type Conflict, type InvalidRequest } from '../../door/refusal.ts';
import type { CancelRun } from '../facts/cancel-run.ts';
import type { ReadCurrentRun } from '../facts/current-run.ts';
import { queueRequestOf, acceptedRun } from '../facts/deployment-queue.ts';
import { runIdOfSchedule } from '../facts/accept-run.ts';
import { NOBODY, textOf, advance, settle, type HandledTimes } from './schedule.decide.ts';
import { cronTimes } from './cron-times.decide.ts';
import type { Kit } from '../../kit.ts';
import type { Runs } from '../runs.ts';

interface HandledTime {
  readonly outcome: ScheduleOutcome;
  /** Earlier runs that were found to have ended. */
  readonly ended: ReadonlySet<string>;
}

/**
 * Queues the run of a due time, unless it has one already. A refusal that passes, such as a log without room, is thrown: the time stays
 * due until it is too late. @throws {LogUnavailable} @throws {Refused}
 */
type QueueTime = (schedule: Schedule, time: string, now: number) => Promise<HandledTime>;

/** Beyond the catch-up time, for what became due in time: it may wait for others that are due too. */
const LATE_AFTER_MS = 60_000;

/** Why no run is queued. `run_id`: the run that has not ended. */
type Why = { readonly kind: 'late' } | { readonly kind: 'overlaps'; readonly run_id: string };
interface NotQueued {
  readonly kind: 'refused';
  readonly why: Why;
}
const refused = (why: Why): NotQueued => ({ kind: 'refused', why });

export const queueTime =
  (kit: Kit, runs: Runs): QueueTime =>
  async (schedule, time, now) => {
    const org_id = orgId(schedule.org_id);
    const given = { org_id, user_id: schedule.user_id, correlation_id: newUuid() };
    const caller = { ...given, idempotencyKey: undefined, traceparent: null };
    const scheduled = { id: schedule.id, time };
    const requested = {
      kind: 'schedule',
      schedule: scheduled,
      request: queueRequestOf(schedule.request),
    } as const;
    const isLate = now - Date.parse(time) > schedule.catch_up_s * 1_000 + LATE_AFTER_MS;
    const ended = new Set<string>();
    const queued = await runs.deployments.queue(caller, requested, () =>
      refuse(runs, schedule, isLate, ended),
    );
    const as = (outcome: ScheduleOutcome['outcome'], run_id: string | null, message: string | null) => ({
      ended,
      outcome: {
        time,
        last_time: time,
        times: 1,
        outcome,
        run_id,
        message: message?.slice(0, MAX_SCHEDULE_MESSAGE) ?? null,
        handled_at: textOf(now),
      },
    });
    if (queued.kind === 'refused') {
      const { why } = queued;
      if (typeof why === 'string') return as('refused', null, NO_DEPLOYMENT);
      switch (why.kind) {
        case 'late':
          return as('missed', null, NOBODY);
        case 'overlaps':
          return as('skipped', why.run_id, 'An earlier run of the schedule had not ended.');
        case 'invalid':
          return as('refused', null, problemsText(why));
      }
    }
    // A client deleted it since: the time was handled.
    if (queued.kind === 'key_of_deleted_run') return as('queued', runIdOfSchedule(org_id, scheduled), null);
    try {
      return as('queued', acceptedRun(kit, queued).run_id, null);
    } catch (error) {
      if (isLasting(error)) return as('refused', null, error.refusal.why);
      throw error;
    }
  };

/** Asked when the time has no run yet. `ended` gets the earlier runs that have ended. */
const refuse = async (
  { current, cancel }: Runs,
  schedule: Schedule,
  isLate: boolean,
  ended: Set<string>,
): Promise<NotQueued | undefined> => {
  if (isLate) return refused({ kind: 'late' });
  if (schedule.overlap === 'allow') return undefined;
  for (const run_id of schedule.open_runs) {
    const key = { org_id: orgId(schedule.org_id), run_id: runId(run_id) };
    if (!(await isOpen(current, key))) ended.add(run_id);
    else if (schedule.overlap === 'skip') return refused({ kind: 'overlaps', run_id });
    else await cancelOther(cancel, key, schedule.user_id);
  }
  return undefined;
};

const NO_DEPLOYMENT =
  'The deployment was archived or deleted, so nothing was queued: restore it, or give the schedule another one.';

const isOpen = async (current: ReadCurrentRun, key: RunKey): Promise<boolean> => {
  const found = await current(key);
  switch (found.kind) {
    case 'found':
      return !isEnded(found.run);
    case 'none':
    case 'deleted':
      return false;
    case 'unreadable':
    case 'views_unavailable':
      throw notYet(found.why);
  }
};

const cancelOther = async (cancel: CancelRun, key: RunKey, user_id: string): Promise<void> => {
  const cancelled = await cancel(key, { user_id, traceparent: null });
  switch (cancelled.kind) {
    case 'answered':
    case 'status_excluded':
    case 'none':
    case 'deleted':
      return;
    case 'too_busy':
      throw notYet('it changes again and again');
    case 'unreadable':
    case 'views_unavailable':
      throw notYet(cancelled.why);
  }
};

const notYet = (why: string): Refused =>
  new Refused({
    code: 'run_unreadable',
    why: `An earlier run of the schedule cannot be handled now: ${why}`,
  });

const problemsText = ({ problems }: InvalidRequest): string =>
  problems.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('; ');

/** A refusal that another try would meet again. */
const isLasting = (error: unknown): error is Refused & { readonly refusal: Conflict } =>
  error instanceof Refused && LASTING.has(statusOf(error.refusal.code));

const LASTING: ReadonlySet<number> = new Set([409, 413, 429, 507]);

interface Handling {
  readonly bucket: Bucket<Schedule>;
  readonly queueTime: QueueTime;
  /** The broker's time, in milliseconds since 1970. */
  readonly brokerNow: () => Promise<number>;
  readonly metrics: ScheduleMetrics;
}

/**
 * Handles the times of a schedule that have come. Resolves with the schedule as it is then; undefined when it was deleted.
 *
 * The times are stored as due before a run is queued, and their outcomes after it. A gateway that is killed in between leaves due times,
 * which the next one handles; the id of the run of a time is made of the schedule and the time, so it is queued once. @throws {LogUnavailable}
 */
export type HandleSchedule = (key: string) => Promise<Schedule | undefined>;

const MAX_TRIES = 50;

export const handleSchedule = (kit: Kit, handling: Handling): HandleSchedule => {
  const { bucket, brokerNow } = handling;
  return async (key) => {
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      const entry = await bucket.get(key);
      if (!entry) return undefined;
      const now = await brokerNow();
      const taken = await take(kit, handling, entry, now);
      if (!taken) continue;
      if (taken.value.due.length === 0) return taken.value;
      const { failure, ...handled } = await handleDue(kit, handling, taken.value, now);
      const settled = await storeOutcomes(handling, taken, handled);
      if (failure !== undefined) throw failure;
      return settled;
    }
    throw new Error(`The schedule ${key} was changed again and again while it was handled.`);
  };
};

type Taken = Pick<Entry<Schedule>, 'key' | 'value' | 'revision'>;

/** Undefined when the schedule was changed meanwhile. */
const take = async (
  { logger }: Kit,
  { bucket, metrics }: Handling,
  { key, value, revision }: Taken,
  now: number,
): Promise<Taken | undefined> => {
  const advanced = advance(value, cronTimes(value), now);
  if (advanced === value) return { key, value, revision };
  const written = await bucket.update(key, advanced, revision);
  if (written === false) return undefined;
  const [missed] = advanced.outcomes;
  if (missed !== undefined && missed !== value.outcomes[0]) {
    metrics.handled('missed', missed.times);
    const { time, last_time, times } = missed;
    logger.warn({ ...nameOf(value), time, last_time, times }, 'a schedule missed times');
  }
  return { key, value: advanced, revision: written };
};

/** One after the other, until one fails for now. */
const handleDue = async (
  { logger }: Kit,
  { queueTime, metrics }: Handling,
  schedule: Schedule,
  now: number,
): Promise<HandledTimes & { readonly failure?: unknown }> => {
  let handled: HandledTimes = { outcomes: [], ended: new Set() };
  for (const time of schedule.due) {
    try {
      const { outcome, ended } = await queueTime(settle(schedule, handled), time, now);
      handled = { outcomes: [...handled.outcomes, outcome], ended: handled.ended.union(ended) };
      metrics.handled(outcome.outcome, 1);
      if (outcome.outcome === 'queued') metrics.late((now - Date.parse(time)) / 1_000);
      const { run_id, message } = outcome;
      const fields = { ...nameOf(schedule), time, outcome: outcome.outcome, run_id, message };
      logger[USUAL.has(outcome.outcome) ? 'info' : 'warn'](fields, 'a time of a schedule was handled');
    } catch (failure) {
      return { ...handled, failure };
    }
  }
  return handled;
};

const USUAL: ReadonlySet<string> = new Set(['queued', 'skipped']);

const nameOf = ({ org_id, id }: Schedule) => ({ org_id, schedule_id: id });

/** The schedule with them; undefined when it was deleted. */
const storeOutcomes = async (
  { bucket }: Handling,
  taken: Taken,
  handled: HandledTimes,
): Promise<Schedule | undefined> => {
  let entry: Taken | undefined = taken;
  for (let tries = 1; entry !== undefined && tries <= MAX_TRIES; tries += 1) {
    const settled = settle(entry.value, handled);
    if (isDeepStrictEqual(settled, entry.value)) return settled;
    if ((await bucket.update(entry.key, settled, entry.revision)) !== false) return settled;
    entry = await bucket.get(entry.key);
  }
  if (entry === undefined) return undefined;
  throw new Error(
    `The outcomes of the schedule ${taken.key} could not be stored: it is changed again and again.`,
  );
};

export interface ScheduleMetrics {
  /** So many times have this outcome. */
  readonly handled: (outcome: ScheduleOutcome['outcome'], times: number) => void;
  /** From a time until its run was queued. */
  readonly late: (seconds: number) => void;
  /** A schedule could not be handled, and is tried again. */
  readonly failed: () => void;
}

const OUTCOMES = ['queued', 'skipped', 'missed', 'refused'] as const satisfies ScheduleOutcome['outcome'][];
const LATE_SECONDS = [0.25, 0.5, 1, 2, 5, 15, 60, 300, 3_600, 86_400];

/** No label holds an organisation or a schedule: each would be a series forever. */
export const scheduleMetrics = (registry: Metrics): ScheduleMetrics => {
  const registers = [registry];
  const handled = new Counter({
    name: 'runledger_gateway_schedule_times_total',
    help: 'Times of schedules, by what came of them.',
    labelNames: ['outcome'],
    registers,
  });
  // A rate would not show the first event of a series that begins at 1.
  for (const outcome of OUTCOMES) handled.inc({ outcome }, 0);
  const late = new Histogram({
    name: 'runledger_gateway_schedule_late_seconds',
    help: 'From a time of a schedule until its run was queued, on the clock of the broker.',
    buckets: LATE_SECONDS,
    registers,
  });
  const failed = new Counter({
    name: 'runledger_gateway_schedule_failures_total',
    help: 'Schedules that could not be handled, and were tried again.',
    registers,
  });
  return {
    handled: (outcome, times) => handled.inc({ outcome }, times),
    late: (seconds) => late.observe(seconds),
    failed: () => failed.inc(),
  };
};
