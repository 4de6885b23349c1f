/** The time of an event or a response, in milliseconds since 1970. */
// oxlint-disable-next-line no-restricted-globals -- it parses a time; it does not read the clock
export const instantOf = (time: string): number => Date.parse(time);
