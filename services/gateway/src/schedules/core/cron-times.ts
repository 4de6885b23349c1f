/* oxlint-disable no-restricted-globals -- it converts times; it does not read the clock */
import type { DayFields } from '@runledger/contracts/catalogue/schedules';
import { Cron } from 'croner';
import { wrongField } from './cron-fields.ts';
import { wrongZone } from './time-zones.ts';

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
/** Where clocks change, lists and ranges of times of day are given times too, as in Vixie cron. */
const DAYLIGHT_SAVING = { fixedTimeRule: 'no-wildcard' } as const;

const FORM = 'it needs five fields with one space between: minute, hour, day of month, month, day of week';

/** What says when the times of a schedule are. */
export interface CronSettings {
  readonly cron: string;
  readonly time_zone: string;
  readonly day_fields: DayFields;
}

/** Reads an expression. `now` decides whether it has a time at all: the 30th of February never comes. */
export const readCron = (settings: CronSettings, now: number): ReadCron => {
  const { cron } = settings;
  const zone = wrongZone(settings.time_zone);
  if (zone !== undefined) return wrong('time_zone', zone);
  if (!FIVE_FIELDS.test(cron) && !NICKNAMES.has(cron.toLowerCase()))
    return wrong('cron', cron.includes('?') ? `${FORM}. It takes no "?": write "*"` : FORM);
  const field = wrongField(cron);
  if (field !== undefined) return wrong('cron', field);
  try {
    const times = cronTimes(settings);
    return times.next(now) === undefined ? wrong('cron', 'no time ever fits it') : { kind: 'read', times };
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError)
      return wrong('cron', error.message.replace(/^CronPattern: /, ''));
    throw error;
  }
};

/** Of a stored schedule. @throws TypeError when it cannot be read, which was checked before it was stored */
export const cronTimes = ({ cron, time_zone, day_fields }: CronSettings): CronTimes =>
  timesOf(
    new Cron(cron, {
      timezone: time_zone,
      mode: '5-part',
      domAndDow: day_fields === 'and',
      ...DAYLIGHT_SAVING,
    }),
  );

const MINUTE_MS = 60_000;

const timesOf = (cron: Cron): CronTimes => ({
  next: (after) => cron.nextRun(new Date(after))?.getTime(),
  last: (upTo) => cron.previousRuns(1, new Date(upTo - (upTo % MINUTE_MS) + MINUTE_MS))[0]?.getTime(),
});

const wrong = (member: WrongCron['member'], why: string): WrongCron => ({ kind: 'wrong', member, why });
