/* oxlint-disable no-restricted-globals -- it reads and writes the broker's times; it does not read the clock */
import type { RunRequest } from './run.ts';

/** The time so many seconds later, to the next millisecond; null for none. */
export const laterBy = (time: string, seconds: number): string | null =>
  seconds > 0 ? new Date(Math.ceil(Date.parse(time) + seconds * 1_000)).toISOString() : null;

/** The time before which a request asked not to start, once it is queued; null when it asked for none. */
export const requestedStart = (
  { delay_s = 0, start_at }: Pick<RunRequest, 'delay_s' | 'start_at'>,
  queuedAt: string,
): string | null => start_at ?? laterBy(queuedAt, delay_s);

/** The time before which a new run does not start; null when it may start at once. */
export const firstNotBefore = (
  request: Pick<RunRequest, 'delay_s' | 'start_at'>,
  queuedAt: string,
): string | null => {
  const start = requestedStart(request, queuedAt);
  return start !== null && Date.parse(start) > Date.parse(queuedAt) ? start : null;
};
