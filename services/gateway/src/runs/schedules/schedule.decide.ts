import {
  DEFAULT_CATCH_UP_S,
  MAX_COUNTED,
  MAX_DUE,
  MAX_OUTCOMES,
  MAX_OPEN_RUNS,
  type Schedule,
  type ScheduleOutcome,
} from '@runledger/contracts/catalogue/schedules';
import type { Schedule as ScheduleResponse } from '@runledger/contracts/http/catalogue/schedules';
import type { RecordIdentity } from '../../records/catalogue/records.ts';
import type { ShowCallback } from '../run-response.ts';
import { cronTimes, type CronSettings, type CronTimes } from './cron-times.decide.ts';

/** When a schedule has times, and what it does at them. */
type Timing = Pick<
  Schedule,
  'name' | 'cron' | 'time_zone' | 'day_fields' | 'overlap' | 'catch_up_s' | 'paused'
>;

/** Null counts as left out. */
type TimingChange = { readonly [Member in keyof Timing]?: Timing[Member] | null | undefined };

/** `now` is the broker's time, in milliseconds since 1970. */
export const newSchedule = (
  requested: TimingChange & { readonly name: string; readonly cron: string },
  request: Schedule['request'],
  origin: RecordIdentity & { readonly user_id: string },
  now: number,
): Schedule => {
  const { name, cron } = requested;
  const timing = timingAfter({ ...DEFAULTS, name, cron }, requested);
  const times = { next_at: nextAt(timing, now), due: [], open_runs: [], outcomes: [] };
  return { ...origin, ...timing, request, ...times };
};

const DEFAULTS: Omit<Timing, 'name' | 'cron'> = {
  time_zone: 'UTC',
  day_fields: 'or',
  overlap: 'skip',
  catch_up_s: DEFAULT_CATCH_UP_S,
  paused: false,
};

/** Times that have come by then belong to the schedule as it was. */
export const changedSchedule = (
  schedule: Schedule,
  change: TimingChange,
  request: Schedule['request'],
  now: number,
): Schedule => {
  const timing = timingAfter(schedule, change);
  const hasOtherTimes =
    timing.cron !== schedule.cron ||
    timing.time_zone !== schedule.time_zone ||
    timing.day_fields !== schedule.day_fields ||
    timing.paused !== schedule.paused;
  const passTo = hasOtherTimes ? finish : advance;
  const before = passTo(schedule, cronTimes(schedule), now);
  return { ...before, ...timing, request, ...(hasOtherTimes && { next_at: nextAt(timing, now) }) };
};

const timingAfter = (before: Timing, change: TimingChange): Timing => ({
  name: change.name ?? before.name,
  cron: change.cron ?? before.cron,
  time_zone: change.time_zone ?? before.time_zone,
  day_fields: change.day_fields ?? before.day_fields,
  overlap: change.overlap ?? before.overlap,
  catch_up_s: change.catch_up_s ?? before.catch_up_s,
  paused: change.paused ?? before.paused,
});

const nextAt = (timing: Timing, now: number): string | null => {
  const next = timing.paused ? undefined : cronTimes(timing).next(now);
  return next === undefined ? null : textOf(next);
};

const NEXT_TIMES = 5;

/** As clients see it. */
export const scheduleResponse = (
  { next_at: _next, due: _due, open_runs: _open, request, ...schedule }: Schedule,
  showCallback: ShowCallback,
  now: number,
): ScheduleResponse => ({
  ...schedule,
  workflow_version_id: null,
  ...request,
  webhook: request.webhook === null ? null : showCallback(request.webhook),
  next_times: schedule.paused ? [] : nextTimes(schedule, now),
});

const nextTimes = (timing: CronSettings, now: number): string[] => {
  const times = cronTimes(timing);
  const found: string[] = [];
  let next = times.next(now);
  for (; next !== undefined && found.length < NEXT_TIMES; next = times.next(next)) found.push(textOf(next));
  return found;
};

/* oxlint-disable no-restricted-globals -- it parses and writes times; it does not read the clock */

/**
 * Takes the times that have come: those within the catch-up time become due, and older ones missed. What it returns is stored before a
 * run is queued, so a time is due until it has an outcome. More than `MAX_DUE` are left for the next call.
 */
export const advance = (schedule: Schedule, times: CronTimes, now: number): Schedule => {
  if (schedule.next_at === null || timeOf(schedule.next_at) > now) return schedule;
  const madeUpFrom = now - schedule.catch_up_s * 1_000;
  const passed = passTimes(times, timeOf(schedule.next_at), madeUpFrom - 1);
  const due = [...schedule.due];
  let next = passed.next;
  for (; next !== undefined && next <= now && due.length < MAX_DUE; next = times.next(next)) {
    due.push(textOf(next));
  }
  return {
    ...schedule,
    next_at: next === undefined ? null : textOf(next),
    due,
    outcomes: withMissed(schedule.outcomes, passed, now, NOBODY),
  };
};

export const NOBODY =
  'Nobody could handle it within catch_up_s: the service was down, or could not store it.';
const CHANGED = 'It had not been made up for when the schedule was changed.';

/** As `advance`, before the times change: what is not due by then counts as missed. */
export const finish = (schedule: Schedule, times: CronTimes, now: number): Schedule => {
  const advanced = advance(schedule, times, now);
  if (advanced.next_at === null) return advanced;
  const passed = passTimes(times, timeOf(advanced.next_at), now);
  return {
    ...advanced,
    next_at: null,
    outcomes: withMissed(advanced.outcomes, passed, now, CHANGED),
  };
};

interface PassedTimes {
  readonly first: number;
  readonly last: number;
  /** None when it is 0. */
  readonly count: number;
  /** The first time that was not passed. */
  readonly next: number | undefined;
}

/** Passes the times up to `until`. A year of minutes is not counted one by one. */
const passTimes = (times: CronTimes, first: number, until: number): PassedTimes => {
  let next: number | undefined = first;
  let [last, count] = [first, 0];
  for (; next !== undefined && next <= until && count < MAX_COUNTED; next = times.next(next)) {
    last = next;
    count += 1;
  }
  if (next === undefined || next > until) return { first, last, count, next };
  return { first, last: times.last(until) ?? last, count, next: times.next(until) };
};

const withMissed = (
  outcomes: Schedule['outcomes'],
  { first, last, count }: PassedTimes,
  now: number,
  message: string,
): ScheduleOutcome[] =>
  count === 0
    ? outcomes
    : latest([
        {
          time: textOf(first),
          last_time: textOf(last),
          times: count,
          outcome: 'missed',
          run_id: null,
          message,
          handled_at: textOf(now),
        },
        ...outcomes,
      ]);

/** By their times. Some become due before others are missed, and are handled later. */
const latest = (outcomes: readonly ScheduleOutcome[]): ScheduleOutcome[] =>
  outcomes.toSorted((a, b) => timeOf(b.time) - timeOf(a.time)).slice(0, MAX_OUTCOMES);

/** A time in milliseconds since 1970 as a text, and back. */
export const textOf = (time: number): string => new Date(time).toISOString();
const timeOf = (text: string): number => Date.parse(text);

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
