import { DEFAULT_CATCH_UP_S, type Schedule } from '@runledger/contracts/catalogue/schedules';
import type { Schedule as ShownSchedule } from '@runledger/contracts/http/catalogue/schedules';
import type { RecordOrigin } from '../../catalogue/store/core/decided-record.ts';
import type { ShowCallback } from '../../webhooks/core/show-callback.ts';
import { advance, finish, textOf } from './advance.ts';
import { cronTimes, type CronSettings } from './cron-times.ts';

/** When a schedule has times, and what it does at them. */
type Timing = Pick<
  Schedule,
  'name' | 'cron' | 'time_zone' | 'day_fields' | 'overlap' | 'catch_up_s' | 'paused'
>;

/** Null counts as left out. */
type TimingChange = { readonly [Member in keyof Timing]?: Timing[Member] | null | undefined };

interface NewSchedule extends TimingChange {
  readonly name: string;
  readonly cron: string;
}

type ScheduleOrigin = RecordOrigin & Pick<Schedule, 'user_id'>;

/** `now` is the broker's time, in milliseconds since 1970. */
export const newSchedule = (
  requested: NewSchedule,
  request: Schedule['request'],
  origin: ScheduleOrigin,
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
  const take = hasOtherTimes ? finish : advance;
  const before = take(schedule, cronTimes(schedule), now);
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

const SHOWN_TIMES = 5;

/** As clients see it. */
export const shownSchedule = (
  { next_at: _next, due: _due, open_runs: _open, request, ...schedule }: Schedule,
  showWebhook: ShowCallback,
  now: number,
): ShownSchedule => ({
  ...schedule,
  ...request,
  webhook: request.webhook === null ? null : showWebhook(request.webhook),
  next_times: schedule.paused ? [] : nextTimes(schedule, now),
});

const nextTimes = (timing: CronSettings, now: number): string[] => {
  const times = cronTimes(timing);
  const found: string[] = [];
  let next = times.next(now);
  for (; next !== undefined && found.length < SHOWN_TIMES; next = times.next(next)) found.push(textOf(next));
  return found;
};
