/**
 * How old a run may become, in milliseconds: less than the age of the log by an hour for each day. Then it is ended while its
 * history is still whole, and readers that are behind still find it.
 */
export const longestLifeMs = (logAgeMs: number): number => (logAgeMs * 23) / 24;
