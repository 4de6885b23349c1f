interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  /** Of a number. */
  readonly suffix?: 'W' | 'L';
  /** Beside numbers, in upper case. */
  readonly names?: RegExp;
  /** What it takes, in words. */
  readonly takes: string;
}

const FIELDS: readonly Field[] = [
  { name: 'minute', least: 0, most: 59, takes: '0 to 59' },
  { name: 'hour', least: 0, most: 23, takes: '0 to 23' },
  {
    name: 'day of month',
    least: 1,
    most: 31,
    suffix: 'W',
    names: /^LW?$/,
    takes: '1 to 31, L for the last day, and 15W for the nearest weekday',
  },
  {
    name: 'month',
    least: 1,
    most: 12,
    names: /^(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)$/,
    takes: '1 to 12 and JAN to DEC',
  },
  {
    name: 'day of week',
    least: 0,
    most: 7,
    suffix: 'L',
    names: /^(?:SUN|MON|TUE|WED|THU|FRI|SAT)L?$/,
    takes: '0 to 7, where 0 and 7 are Sunday, and SUN to SAT',
  },
];

/**
 * The first element that its field does not take, as it was written; undefined when there is none. The library counts days and months from
 * 0 in its messages, so that month 13 would be called 12.
 */
export const wrongField = (cron: string): string | undefined => {
  const texts = cron.split(' ');
  if (texts.length !== FIELDS.length) return undefined;
  const found = FIELDS.flatMap((field, index) => {
    const wrong = (texts[index] ?? '').split(',').find((element) => !takes(field, element));
    return wrong === undefined
      ? []
      : [`${field.name} has ${JSON.stringify(wrong)}, and takes ${field.takes}`];
  });
  return found[0];
};

/** Whether its values are known. Steps, and which one of a weekday's days it is, are the library's. */
const takes = (field: Field, element: string): boolean =>
  element
    .replace(/[/#].*$/, '')
    .split('-')
    .every((value) => value === '*' || takesValue(field, value.toUpperCase()));

const takesValue = ({ least, most, suffix, names }: Field, value: string): boolean => {
  const digits = /^\d+/.exec(value)?.[0];
  if (digits === undefined) return names?.test(value) ?? false;
  const rest = value.slice(digits.length);
  return Number(digits) >= least && Number(digits) <= most && (rest === '' || rest === suffix);
};
