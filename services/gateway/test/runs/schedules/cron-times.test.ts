import type { DayFields } from '@runledger/contracts/catalogue/schedules';
import { describe, expect, it } from 'vitest';
import { cronTimes, readCron } from '../../../src/runs/schedules/cron-times.decide.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const read = (cron: string, time_zone = 'UTC', day_fields: DayFields = 'or') =>
  readCron({ cron, time_zone, day_fields }, NOW);

/** The next times, as texts. */
const timesOf = (
  cron: string,
  time_zone: string,
  after: string,
  count: number,
  day_fields: DayFields = 'or',
): string[] => {
  const { next } = cronTimes({ cron, time_zone, day_fields });
  const found: string[] = [];
  for (let at = next(Date.parse(after)); at !== undefined && found.length < count; at = next(at)) {
    found.push(new Date(at).toISOString().slice(0, 16));
  }
  return found;
};

describe('a cron expression', () => {
  it.each([
    '* * * * *',
    '0 9 * * MON-FRI',
    '*/15 8-17 1,15 * *',
    '0 0 L * *',
    '0 0 * * FRI#2',
    '0 0 15W * 5L',
    '0 0 LW * *',
    '0 0 * * FRIL,1-wed',
    '0 0 * JAN-dec/2 mon-FRI/2',
    '0-59/60 */24 */31 */12 0-7',
    '0 0 * * FRI-sun,SUN-MON',
    '@daily',
    '@Hourly',
  ])('may be %s', (cron) => expect(read(cron).kind).toBe('read'));

  it.each([
    ['* * * *', 'five fields'],
    ['* * * * * *', 'five fields'],
    ['0  9 * * *', 'five fields'],
    ['? * * * *', 'five fields'],
    ['@reboot', 'five fields'],
    ['2026-01-01T00:00:00', 'five fields'],
    ['60 * * * *', 'minute has "60", and takes 0 to 59'],
    ['0 24 * * *', 'hour has "24"'],
    ['0 0 0 * *', 'day of month has "0"'],
    ['0 0 1,20-32 * *', 'day of month has "20-32"'],
    ['0 0 * 13 *', 'month has "13", and takes 1 to 12 and JAN to DEC'],
    ['0 0 * JANUARY *', 'month has "JANUARY"'],
    ['0 0 * 1,MON *', 'month has "MON"'],
    ['0 0 * * 8', 'day of week has "8"'],
    ['0 0 * * MON,', 'day of week has ""'],
    ['0 0 13 * +FRI', 'day of week has "+FRI"'],
    ['a b c d e', 'minute has "a"'],
    ['0 0 -1 * *', 'day of month has "-1"'],
    ['5/15 * * * *', 'stepping'],
    ['5/15 * * * *', 'minute has "5/15", and stepping is through a range: write "5-59/15", or "*/15"'],
    ['0 0 * * FRI-MON', 'day of week has "FRI-MON", which ends before it begins: write "FRI-SAT,SUN-MON"'],
    ['50-10 * * * *', 'minute has "50-10", which ends before it begins: write "50-59,0-10"'],
    ['*/0 * * * *', 'minute has "*/0", and a step is 1 to 60'],
    ['0 */25 * * *', 'hour has "*/25", and a step is 1 to 24'],
    ['0 0 ? * MON', 'It takes no "?": write "*"'],
    ['0 0 30 2 *', 'no time ever fits'],
    ['0 0 31 2,4,6,9,11 *', 'no time ever fits'],
  ])('is not %s: %s', (cron, why) =>
    expect(read(cron)).toMatchObject({ kind: 'wrong', member: 'cron', why: expect.stringContaining(why) }),
  );

  it('has names beside numbers in its lists', () => {
    expect(timesOf('0 0 * JAN,2 MON,3', 'UTC', '2026-01-26T00:00:00Z', 3)).toEqual([
      '2026-01-28T00:00',
      '2026-02-02T00:00',
      '2026-02-04T00:00',
    ]);
  });

  it('has times in an alias of a zone, and in UTC', () => {
    expect(timesOf('0 9 * * *', 'Asia/Calcutta', '2026-01-01T00:00:00Z', 1)).toEqual(['2026-01-01T03:30']);
    expect(read('@daily', 'MSK')).toMatchObject({ kind: 'wrong', member: 'time_zone' });
  });

  it('has days that fit one of both day fields, or both', () => {
    const mondays = (fields: DayFields) => timesOf('0 9 1-7 * MON', 'UTC', '2026-02-06T12:00:00Z', 3, fields);
    expect(mondays('or')).toEqual(['2026-02-07T09:00', '2026-02-09T09:00', '2026-02-16T09:00']);
    expect(mondays('and')).toEqual(['2026-03-02T09:00', '2026-04-06T09:00', '2026-05-04T09:00']);
    expect(timesOf('0 9 * * MON', 'UTC', '2026-02-06T12:00:00Z', 1, 'and')).toEqual(['2026-02-09T09:00']);
    expect(timesOf('0 9 13 * *', 'UTC', '2026-02-06T12:00:00Z', 1, 'and')).toEqual(['2026-02-13T09:00']);
    expect(read('0 0 30 2 MON', 'UTC', 'or').kind).toBe('read');
    expect(read('0 0 30 2 MON', 'UTC', 'and')).toMatchObject({ why: 'no time ever fits it' });
  });

  it('has whole minutes, each after the one before', () => {
    expect(timesOf('* * * * *', 'UTC', '2026-01-01T00:00:59.999Z', 2)).toEqual([
      '2026-01-01T00:01',
      '2026-01-01T00:02',
    ]);
    expect(timesOf('* * * * *', 'UTC', '2026-01-01T00:01:00.000Z', 1)).toEqual(['2026-01-01T00:02']);
    expect(timesOf('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', 2)).toEqual([
      '2028-02-29T00:00',
      '2032-02-29T00:00',
    ]);
  });
});

describe('where clocks are set forward, from 02:00 to 03:00', () => {
  const after = '2026-03-28T12:00:00Z';
  it('a time of day that is skipped comes right after the gap', () => {
    expect(timesOf('30 2 * * *', 'Europe/Berlin', after, 2)).toEqual([
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ]);
    expect(timesOf('30 2,14 * * *', 'Europe/Berlin', '2026-03-28T14:00:00Z', 2)).toEqual([
      '2026-03-29T01:00',
      '2026-03-29T12:30',
    ]);
  });
  it('an expression with steps goes on', () => {
    expect(timesOf('*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', 3)).toEqual([
      '2026-03-29T00:30',
      '2026-03-29T01:00',
      '2026-03-29T01:30',
    ]);
  });
});

describe('where clocks are set back, from 03:00 to 02:00', () => {
  it('a time of day that occurs twice counts the first time only', () => {
    expect(timesOf('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]);
    expect(timesOf('0,30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 3)).toEqual([
      '2026-10-25T00:00',
      '2026-10-25T00:30',
      '2026-10-26T01:00',
    ]);
  });
  it('an expression with steps counts both', () => {
    expect(timesOf('*/30 * * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z', 4)).toEqual([
      '2026-10-25T00:30',
      '2026-10-25T01:00',
      '2026-10-25T01:30',
      '2026-10-25T02:00',
    ]);
  });
});
