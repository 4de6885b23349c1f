/** The `Accept` of a client that reads numbers as they are written. Others get an integer that a double would change as a string. */
export const ACCEPT_EXACT_NUMBERS = 'application/json; numbers=exact';

const EXACT = /;\s*numbers\s*=\s*"?exact"?\s*(?:[;,]|$)/i;

export const wantsExactNumbers = (accept: string): boolean => EXACT.test(accept);
