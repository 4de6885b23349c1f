import { MAX_OPEN_RUNS, MAX_OUTCOMES, type ScheduleOutcome } from '@runledger/contracts/catalogue/schedules';
import { newUuid } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { settle } from '../../../src/runs/schedules/schedule.decide.ts';
import { aSchedule } from './a-schedule.ts';

const time = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const an = (outcome: ScheduleOutcome['outcome'], at: string, run_id: string | null): ScheduleOutcome => ({
  time: at,
  last_time: at,
  times: 1,
  outcome,
  run_id,
  message: null,
  handled_at: at,
});
const [run, other] = [newUuid(), newUuid()];
const nobody: ReadonlySet<string> = new Set();

describe('due times that were handled', () => {
  it('have their outcomes, the latest first, and are due no more', () => {
    const outcomes = [an('queued', time(1), run), an('skipped', time(2), run)];
    expect(
      settle(aSchedule({ due: [time(1), time(2), time(3)] }), { outcomes, ended: nobody }),
    ).toMatchObject({
      due: [time(3)],
      open_runs: [run],
      outcomes: outcomes.toReversed(),
    });
  });

  it('leave the runs that may not have ended', () => {
    const schedule = aSchedule({ due: [time(1)], open_runs: [other] });
    const outcomes = [an('queued', time(1), run)];
    expect(settle(schedule, { outcomes, ended: new Set([other]) }).open_runs).toEqual([run]);
    expect(settle(schedule, { outcomes, ended: nobody }).open_runs).toEqual([other, run]);
  });

  it('keep the latest outcomes and runs only', () => {
    let schedule = aSchedule();
    for (let minute = 0; minute < 2 * MAX_OUTCOMES; minute += 1) {
      const outcomes = [an('queued', time(minute), newUuid())];
      schedule = settle({ ...schedule, due: [time(minute)] }, { outcomes, ended: nobody });
    }
    expect(schedule.outcomes).toHaveLength(MAX_OUTCOMES);
    expect(schedule.outcomes[0]?.time).toBe(time(2 * MAX_OUTCOMES - 1));
    expect(schedule.open_runs).toHaveLength(MAX_OPEN_RUNS);
  });
});

describe('a time that two gateways handled at once', () => {
  const due = aSchedule({ due: [time(1)], open_runs: [other] });
  const skipped = { outcomes: [an('skipped', time(1), other)], ended: nobody };
  const queued = { outcomes: [an('queued', time(1), run)], ended: new Set([other]) };

  it('has one outcome, which is the run if there is one, whoever stores first', () => {
    for (const [first, second] of [
      [skipped, queued],
      [queued, skipped],
      [queued, queued],
    ] as const) {
      const settled = settle(settle(due, first), second);
      expect(settled).toMatchObject({ due: [], open_runs: [run], outcomes: queued.outcomes });
    }
  });

  it('does not change what was missed with others', () => {
    const missed = { ...an('missed', time(1), null), last_time: time(5), times: 5 };
    const schedule = aSchedule({ due: [], outcomes: [missed] });
    expect(settle(schedule, queued).outcomes).toEqual([missed]);
  });
});
