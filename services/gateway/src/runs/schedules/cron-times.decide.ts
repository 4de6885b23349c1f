import type { DayFields } from '@runledger/contracts/catalogue/schedules';
import { Cron } from 'croner';
import { wrongZone } from './time-zones.decide.ts';

/* oxlint-disable no-restricted-globals -- it converts times; it does not read the clock */

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

const MINUTE_MS = 60_000;

/** Of a stored schedule. @throws TypeError when it cannot be read, which was checked before it was stored */
export const cronTimes = ({ cron: expression, time_zone, day_fields }: CronSettings): CronTimes => {
  const options = { timezone: time_zone, mode: '5-part', domAndDow: day_fields === 'and' } as const;
  const cron = new Cron(expression, { ...options, ...DAYLIGHT_SAVING });
  return {
    next: (after) => cron.nextRun(new Date(after))?.getTime(),
    last: (upTo) => cron.previousRuns(1, new Date(upTo - (upTo % MINUTE_MS) + MINUTE_MS))[0]?.getTime(),
  };
};

const wrong = (member: WrongCron['member'], why: string): WrongCron => ({ kind: 'wrong', member, why });

interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  /** Names of its values from the least one on, in upper case. */
  readonly words?: readonly string[];
  /** Of a number or a word. */
  readonly suffix?: 'W' | 'L';
  /** Values that stand for themselves. */
  readonly names?: readonly string[];
  /** What it takes, in words. */
  readonly takes: string;
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const FIELDS: readonly Field[] = [
  { name: 'minute', least: 0, most: 59, takes: '0 to 59' },
  { name: 'hour', least: 0, most: 23, takes: '0 to 23' },
  {
    name: 'day of month',
    least: 1,
    most: 31,
    suffix: 'W',
    names: ['L', 'LW'],
    takes: '1 to 31, L for the last day, and 15W for the nearest weekday',
  },
  { name: 'month', least: 1, most: 12, words: MONTHS, takes: '1 to 12 and JAN to DEC' },
  {
    name: 'day of week',
    least: 0,
    most: 7,
    suffix: 'L',
    words: DAYS,
    takes: '0 to 7, where 0 and 7 are Sunday, and SUN to SAT',
  },
];

/**
 * What is wrong with the first element that its field does not take, as it was written; undefined when there is none. The library counts days
 * and months from 0 in its messages, so that month 13 would be called 12.
 */
const wrongField = (cron: string): string | undefined => {
  const texts = cron.split(' ');
  if (texts.length !== FIELDS.length) return undefined;
  const found = FIELDS.flatMap((field, index) =>
    (texts[index] ?? '').split(',').flatMap((element) => {
      const why = wrongElement(field, element);
      return why === undefined ? [] : [`${field.name} has ${JSON.stringify(element)}, ${why}`];
    }),
  );
  return found[0];
};

/** Which one of a weekday's days it is, the library knows. */
const wrongElement = (field: Field, element: string): string | undefined => {
  const [values = '', step] = element.replace(/#.*$/, '').split('/', 2);
  const [from = '', to, ...more] = values.split('-');
  const all = [from, ...(to === undefined ? [] : [to]), ...more];
  if (!all.every((value) => value === '*' || takesValue(field, value.toUpperCase())))
    return `and takes ${field.takes}`;
  if (to !== undefined && numberOf(field, from) > endOf(field, to)) {
    const { least, most, words = [] } = field;
    const [first, last] = words.includes(from.toUpperCase()) ? [words[0], words.at(-1)] : [least, most];
    return `which ends before it begins: write "${from}-${last},${first}-${to}"`;
  }
  return step === undefined ? undefined : wrongStep(field, { values, step });
};

const wrongStep = (
  { least, most }: Field,
  { values, step }: { readonly values: string; readonly step: string },
): string | undefined => {
  if (!/^\d+$/.test(step) || Number(step) < 1 || Number(step) > most - least + 1)
    return `and a step is 1 to ${most - least + 1}`;
  return values === '*' || values.includes('-')
    ? undefined
    : `and stepping is through a range: write "${values}-${most}/${step}", or "*/${step}"`;
};

/** A range of days may end with Sunday. */
const endOf = (field: Field, to: string): number =>
  field.words === DAYS && to.toUpperCase() === 'SUN' ? field.most : numberOf(field, to);

/** Of a value that the field takes; NaN for one that stands for itself, such as L. */
const numberOf = ({ least, words = [] }: Field, value: string): number => {
  const at = words.indexOf(value.toUpperCase());
  return at === -1 ? Number(value) : at + least;
};

const takesValue = ({ least, most, words, suffix, names }: Field, value: string): boolean => {
  if (names?.includes(value)) return true;
  const bare = suffix && value.endsWith(suffix) ? value.slice(0, -suffix.length) : value;
  return words?.includes(bare) || (/^\d+$/.test(bare) && Number(bare) >= least && Number(bare) <= most);
};
