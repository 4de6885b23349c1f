import { describe, expect, it } from 'vitest';
import { cronTimes, readCron } from '../../../src/schedules/core/cron-times.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const read = (cron: string, zone = 'UTC') => readCron(cron, zone, NOW);

/** The next times, as texts. */
const timesOf = (cron: string, time_zone: string, after: string, count: number): string[] => {
  const { next } = cronTimes({ cron, time_zone });
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
    ['60 * * * *', 'minute'],
    ['a b c d e', 'illegal'],
    ['5/15 * * * *', 'stepping'],
    ['0 0 30 2 *', 'no time ever fits'],
    ['0 0 31 2,4,6,9,11 *', 'no time ever fits'],
  ])('is not %s: %s', (cron, why) =>
    expect(read(cron)).toMatchObject({ kind: 'wrong', member: 'cron', why: expect.stringContaining(why) }),
  );

  it.each(['Europe/Berlin', 'UTC', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])(
    'may be in the zone %s',
    (zone) => expect(read('@daily', zone).kind).toBe('read'),
  );

  it.each(['Mars/Phobos', '+02:00', '', 'local', 'Europe/Berlin '])('is not in the zone "%s"', (zone) =>
    expect(read('@daily', zone)).toMatchObject({ kind: 'wrong', member: 'time_zone' }),
  );

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
