const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** A duration as people say it: `0.42 s`, `8.1 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export const seconds = (value: number): string => {
  const s = Math.max(0, value);
  if (s < 1) return `${s.toFixed(2)} s`;
  if (s < MINUTE_S) return `${s < 10 ? s.toFixed(1) : Math.floor(s)} s`;
  if (s < HOUR_S) return `${Math.floor(s / MINUTE_S)} min ${Math.floor(s % MINUTE_S)} s`;
  if (s < DAY_S) return `${Math.floor(s / HOUR_S)} h ${Math.floor((s % HOUR_S) / MINUTE_S)} min`;
  return `${Math.floor(s / DAY_S)} d ${Math.floor((s % DAY_S) / HOUR_S)} h`;
};

/** How long ago `time` was at `now`, both in milliseconds. A time to come is `in 5 s`. */
export const ago = (time: number, now: number): string => {
  const s = Math.round((now - time) / 1_000);
  if (Math.abs(s) < 2) return 'now';
  const words = coarse(Math.abs(s));
  return s < 0 ? `in ${words}` : `${words} ago`;
};

const coarse = (s: number): string => {
  if (s < MINUTE_S) return `${s} s`;
  if (s < HOUR_S) return `${Math.floor(s / MINUTE_S)} min`;
  if (s < 2 * DAY_S) return `${Math.floor(s / HOUR_S)} h`;
  return `${Math.floor(s / DAY_S)} d`;
};

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

export const bytes = (value: number): string => {
  const power = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(value) / 10));
  const scaled = value / 1_024 ** power;
  return `${scaled < 10 && power > 0 ? scaled.toFixed(1) : Math.round(scaled)} ${UNITS[power]}`;
};

/** The end of an id, which tells runs apart: the beginning is the time. */
export const shortId = (id: string): string => id.slice(-8);

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
