/* oxlint-disable no-restricted-globals -- it parses and writes times; it does not read the clock */
import {
  MAX_COUNTED,
  MAX_DUE,
  MAX_OUTCOMES,
  type Schedule,
  type ScheduleOutcome,
} from '@runledger/contracts/catalogue/schedules';
import type { CronTimes } from './cron-times.ts';

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
export const latest = (outcomes: readonly ScheduleOutcome[]): ScheduleOutcome[] =>
  outcomes.toSorted((a, b) => timeOf(b.time) - timeOf(a.time)).slice(0, MAX_OUTCOMES);

/** A time in milliseconds since 1970 as a text, and back. */
export const textOf = (time: number): string => new Date(time).toISOString();
const timeOf = (text: string): number => Date.parse(text);
