const DAY_MS = 86_400_000;
const pad = (digits: number) => (_: unknown, number: number) => String(number).padStart(digits, '0');
const TWO = Array.from({ length: 60 }, pad(2));
const THREE = Array.from({ length: 1_000 }, pad(3));

let latest = { day: Number.NaN, text: '' };

/** Of the time in milliseconds since 1970, as `Date` writes it, which takes several times as long. */
export const timeText = (ms: number): string => {
  const day = Math.floor(ms / DAY_MS);
  if (day !== latest.day) {
    // oxlint-disable-next-line no-restricted-globals -- it writes a time; it does not read the clock
    latest = { day, text: new Date(day * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length) };
  }
  const inDay = ms - day * DAY_MS;
  const minutes = Math.floor(inDay / 60_000);
  const inMinute = inDay - minutes * 60_000;
  const hour = TWO[Math.floor(minutes / 60)];
  return `${latest.text}${hour}:${TWO[minutes % 60]}:${TWO[Math.floor(inMinute / 1_000)]}.${THREE[inMinute % 1_000]}Z`;
};
