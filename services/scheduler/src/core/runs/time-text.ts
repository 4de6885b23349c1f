const DAY_MS = 86_400_000;
const pad = (digits: number) => (_: unknown, number: number) => String(number).padStart(digits, '0');
const TWO = Array.from({ length: 60 }, pad(2));
const THREE = Array.from({ length: 1_000 }, pad(3));
const ZERO = '0'.charCodeAt(0);
const LENGTH = '2026-01-01T00:00:00.000Z'.length;

/** The texts of a day begin alike. */
let latest = { day: 0, text: '1970-01-01T' };

/** Of the time in milliseconds since 1970, as `Date` writes it, which takes several times as long. */
export const timeText = (ms: number): string => {
  const day = Math.floor(ms / DAY_MS);
  if (day !== latest.day) rememberDay(day);
  const inDay = ms - day * DAY_MS;
  const minutes = Math.floor(inDay / 60_000);
  const inMinute = inDay - minutes * 60_000;
  const hour = TWO[Math.floor(minutes / 60)];
  return `${latest.text}${hour}:${TWO[minutes % 60]}:${TWO[Math.floor(inMinute / 1_000)]}.${THREE[inMinute % 1_000]}Z`;
};

/** The time in milliseconds since 1970 of an ISO 8601 text, as `Date.parse` reads it, which takes several times as long. */
export const timeOf = (text: string): number => {
  const { day, text: start } = latest;
  if (text.length === LENGTH && text.startsWith(start)) {
    const hours = digits(text, 11, 2);
    const minutes = digits(text, 14, 2);
    const seconds = digits(text, 17, 2);
    const inDay = ((hours * 60 + minutes) * 60 + seconds) * 1_000 + digits(text, 20, 3);
    if (inDay < DAY_MS && minutes < 60 && seconds < 60 && hasSigns(text)) return day * DAY_MS + inDay;
  }
  // oxlint-disable-next-line no-restricted-globals -- it reads a text; it does not read the clock
  const ms = Date.parse(text);
  if (Number.isFinite(ms)) rememberDay(Math.floor(ms / DAY_MS));
  return ms;
};

const rememberDay = (day: number): void => {
  // oxlint-disable-next-line no-restricted-globals -- it writes a time; it does not read the clock
  latest = { day, text: new Date(day * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length) };
};

/** Not a number when one of the characters is no digit. */
const digits = (text: string, from: number, count: number): number => {
  let number = 0;
  for (let index = from; index < from + count; index += 1) {
    const digit = text.charCodeAt(index) - ZERO;
    number = digit >= 0 && digit <= 9 ? number * 10 + digit : Number.NaN;
  }
  return number;
};

const hasSigns = (text: string): boolean =>
  text[13] === ':' && text[16] === ':' && text[19] === '.' && text[23] === 'Z';
