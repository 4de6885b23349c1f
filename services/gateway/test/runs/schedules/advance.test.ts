import { MAX_COUNTED, MAX_DUE, Schedule } from '@runledger/contracts/catalogue/schedules';
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { advance, finish, settle } from '../../../src/runs/schedules/schedule.decide.ts';
import { cronTimes } from '../../../src/runs/schedules/cron-times.decide.ts';
import { aSchedule } from './a-schedule.ts';

const MINUTE_MS = 60_000;
const BEGIN = Date.parse('2026-01-01T00:00:00Z');
const at = (minutes: number): number => BEGIN + minutes * MINUTE_MS;
const text = (minutes: number): string => new Date(at(minutes)).toISOString();
const advanced = (schedule: Schedule, now: number): Schedule => advance(schedule, cronTimes(schedule), now);
const stored = Compile(Schedule);

describe('a schedule whose times come', () => {
  it('stays as it is before its next time', () => {
    const schedule = aSchedule();
    expect(advanced(schedule, at(1) - 1)).toBe(schedule);
    const paused = aSchedule({ paused: true, next_at: null });
    expect(advanced(paused, at(100))).toBe(paused);
  });

  it('has a time that is due, and the next one', () => {
    expect(advanced(aSchedule(), at(1))).toMatchObject({ due: [text(1)], next_at: text(2), outcomes: [] });
  });

  it('makes up for times within the catch-up time, and has missed older ones', () => {
    expect(advanced(aSchedule({ catch_up_s: 120 }), at(5))).toMatchObject({
      due: [text(3), text(4), text(5)],
      next_at: text(6),
      outcomes: [{ outcome: 'missed', time: text(1), last_time: text(2), times: 2, run_id: null }],
    });
  });

  it('takes some at a time, and the others later', () => {
    const first = advanced(aSchedule(), at(40));
    expect(first.due).toHaveLength(MAX_DUE);
    expect(first.next_at).toBe(text(MAX_DUE + 1));
    expect(advanced(first, at(40))).toEqual(first);
    const settled = { ...first, due: [] };
    expect(advanced(settled, at(40)).due[0]).toBe(text(MAX_DUE + 1));
  });

  it('counts no year of minutes one by one', () => {
    const year = 365 * 24 * 60;
    const schedule = aSchedule({ catch_up_s: 60 });
    const times = cronTimes(schedule);
    let steps = 0;
    const counted = { ...times, next: (after: number) => ((steps += 1), times.next(after)) };
    const after = advance(schedule, counted, at(year));
    expect(steps).toBeLessThan(MAX_COUNTED + 10);
    expect(after.outcomes).toMatchObject([{ times: MAX_COUNTED, time: text(1), last_time: text(year - 2) }]);
    expect(after.due).toEqual([text(year - 1), text(year)]);
  });

  it('has missed what was not due when its times changed', () => {
    const schedule = aSchedule();
    const finished = finish(schedule, cronTimes(schedule), at(MAX_DUE + 3));
    expect(finished).toMatchObject({
      next_at: null,
      outcomes: [{ outcome: 'missed', time: text(MAX_DUE + 1), last_time: text(MAX_DUE + 3), times: 3 }],
    });
    expect(finished.due).toHaveLength(MAX_DUE);
  });
});

/** Nobody works for so many seconds, and then somebody handles what has come, or is killed before its outcomes are stored. */
const step = fc.record({ seconds: fc.integer({ min: 1, max: 4_000 }), isKilled: fc.boolean() });

describe('whatever happens to those who handle it', () => {
  it('each time of a schedule has one outcome, and none is lost', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('* * * * *', '*/7 * * * *', '0 * * * *', '13,14 1-3 * * *'),
        fc.integer({ min: 60, max: 7_200 }),
        fc.array(step, { maxLength: 40 }),
        (cron, catch_up_s, steps) => {
          const times = cronTimes({ cron, time_zone: 'UTC', day_fields: 'or' });
          const next_at = new Date(times.next(BEGIN) ?? 0).toISOString();
          let schedule = aSchedule({ cron, catch_up_s, next_at });
          let now = BEGIN;
          const told: { first: number; last: number; times: number }[] = [];
          const queued = new Set<string>();
          for (const { seconds, isKilled } of steps) {
            now += seconds * 1_000;
            const before = schedule.outcomes[0];
            schedule = advanced(schedule, now);
            const [missed] = schedule.outcomes;
            if (missed && missed !== before)
              told.push({
                first: Date.parse(missed.time),
                last: Date.parse(missed.last_time),
                times: missed.times,
              });
            // Its run is queued, whether or not that is stored then: its id is made of the time.
            for (const time of schedule.due) queued.add(time);
            if (isKilled) continue;
            const outcomes = schedule.due.map((time) => ({
              time,
              last_time: time,
              times: 1,
              outcome: 'queued' as const,
              run_id: aSchedule().id,
              message: null,
              handled_at: new Date(now).toISOString(),
            }));
            told.push(...schedule.due.map(Date.parse).map((time) => ({ first: time, last: time, times: 1 })));
            schedule = settle(schedule, { outcomes, ended: new Set() });
            expect(stored.Check(schedule)).toBe(true);
          }
          const all: number[] = [];
          const until = schedule.next_at === null ? now : Date.parse(schedule.next_at) - 1;
          for (let time = times.next(BEGIN); time !== undefined && time <= until; time = times.next(time))
            all.push(time);
          const open = schedule.due.map(Date.parse);
          const counted = told.reduce((sum, one) => sum + one.times, 0);
          expect(counted + open.length).toBe(all.length);
          for (const time of all) {
            const tellers = told.filter(({ first, last }) => first <= time && time <= last);
            expect(tellers.length + (open.includes(time) ? 1 : 0)).toBe(1);
          }
        },
      ),
    );
  });
});
