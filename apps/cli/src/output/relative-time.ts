const SECOND_MS = 1_000;
/** Clocks differ, and a request takes its time. */
const NOW_MS = 5 * SECOND_MS;

/** From the longest one. Months and years have their mean length. */
const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['year', 31_556_952 * SECOND_MS],
  ['month', 2_629_746 * SECOND_MS],
  ['day', 86_400 * SECOND_MS],
  ['hour', 3_600 * SECOND_MS],
  ['minute', 60 * SECOND_MS],
  ['second', SECOND_MS],
];

/** How long before or after `nowMs` a time is: `3 minutes ago`, `in 2 days`, `now`. Any other text stays. */
export const relativeTime = (text: string, nowMs: number): string => {
  if (!/^\d{4}-\d{2}-\d{2}T/.test(text)) return text;
  const ms = Date.parse(text) - nowMs;
  if (Number.isNaN(ms)) return text;
  if (Math.abs(ms) < NOW_MS) return 'now';
  const [name, length] = UNITS.find(([, unit]) => Math.abs(ms) >= unit) ?? ['second', SECOND_MS];
  const count = Math.floor(Math.abs(ms) / length);
  const words = `${count} ${name}${count === 1 ? '' : 's'}`;
  return ms < 0 ? `${words} ago` : `in ${words}`;
};
