/* oxlint-disable no-restricted-globals -- it converts times; it does not read the clock */
import { Cron } from 'croner';

/** The times of a cron expression in a time zone, in milliseconds since 1970. All are whole minutes. */
export interface CronTimes {
  /** The first time after this one; undefined when there is none. */
  readonly next: (after: number) => number | undefined;
  /** The last time up to this one; undefined when there is none. */
  readonly last: (upTo: number) => number | undefined;
}

interface WrongCron {
  readonly kind: 'wrong';
  readonly member: 'cron' | 'time_zone';
  readonly why: string;
}

type ReadCron = { readonly kind: 'read'; readonly times: CronTimes } | WrongCron;

const NICKNAMES: ReadonlySet<string> = new Set([
  '@hourly',
  '@daily',
  '@midnight',
  '@weekly',
  '@monthly',
  '@yearly',
  '@annually',
]);
/** No `?`, which would be the time at which it is read. */
const FIVE_FIELDS = /^[^\s?]+(?: [^\s?]+){4}$/;
const ZONE_NAME = /^[A-Za-z][A-Za-z0-9_+/-]*$/;
/** Where clocks change, lists and ranges of times of day are given times too, as in Vixie cron. */
const DAYLIGHT_SAVING = { fixedTimeRule: 'no-wildcard' } as const;

/** Reads an expression. `now` decides whether it has a time at all: the 30th of February never comes. */
export const readCron = (cron: string, time_zone: string, now: number): ReadCron => {
  if (!isZone(time_zone))
    return wrong('time_zone', `${JSON.stringify(time_zone)} is no IANA time zone, such as Europe/Berlin`);
  if (!FIVE_FIELDS.test(cron) && !NICKNAMES.has(cron.toLowerCase()))
    return wrong(
      'cron',
      'it needs five fields with one space between: minute, hour, day of month, month, day of week',
    );
  try {
    const times = timesOf(new Cron(cron, { timezone: time_zone, mode: '5-part', ...DAYLIGHT_SAVING }));
    return times.next(now) === undefined ? wrong('cron', 'no time ever fits it') : { kind: 'read', times };
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError)
      return wrong('cron', error.message.replace(/^CronPattern: /, ''));
    throw error;
  }
};

/** Of a stored schedule. @throws TypeError when it cannot be read, which was checked before it was stored */
export const cronTimes = ({
  cron,
  time_zone,
}: {
  readonly cron: string;
  readonly time_zone: string;
}): CronTimes => timesOf(new Cron(cron, { timezone: time_zone, mode: '5-part', ...DAYLIGHT_SAVING }));

const MINUTE_MS = 60_000;

const timesOf = (cron: Cron): CronTimes => ({
  next: (after) => cron.nextRun(new Date(after))?.getTime(),
  last: (upTo) => cron.previousRuns(1, new Date(upTo - (upTo % MINUTE_MS) + MINUTE_MS))[0]?.getTime(),
});

const isZone = (name: string): boolean => {
  if (!ZONE_NAME.test(name)) return false;
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
};

const wrong = (member: WrongCron['member'], why: string): WrongCron => ({ kind: 'wrong', member, why });
