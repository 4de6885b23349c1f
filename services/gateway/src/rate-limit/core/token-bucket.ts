/** The tokens left of a limit at a time in milliseconds. Fractions of a token count. */
export interface Tokens {
  readonly tokens: number;
  readonly at: number;
}

/** A limit is a number of requests in this time. The bucket holds as many tokens, and an empty one is full again after it. */
export const WINDOW_MS = 60_000;

/**
 * The tokens at a later time. A bucket that does not exist yet is full. A clock that was set back refills nothing until it
 * is where it was, so no time counts twice. One that was set back by more than the window would refill nothing for too
 * long, so its time counts as it is.
 */
export const refilled = (present: Tokens | undefined, now: number, limit: number): Tokens => {
  if (!present) return { tokens: limit, at: now };
  const at = present.at - now > WINDOW_MS ? now : Math.max(present.at, now);
  const since = Math.max(at - present.at, 0);
  return { tokens: Math.min(limit, present.tokens + (since * limit) / WINDOW_MS), at };
};

export interface Taken {
  readonly granted: number;
  readonly left: Tokens;
}

/** Takes whole tokens, at most as many as are there and as are wanted. */
export const take = (present: Tokens | undefined, now: number, limit: number, wanted: number): Taken => {
  const { tokens, at } = refilled(present, now, limit);
  const granted = Math.max(0, Math.min(wanted, Math.floor(tokens)));
  return { granted, left: { tokens: tokens - granted, at } };
};

/** The tokens after some come back unspent. Never more than the bucket holds. */
export const putBack = (present: Tokens | undefined, now: number, limit: number, tokens: number): Tokens => {
  const left = refilled(present, now, limit);
  return { ...left, tokens: Math.min(limit, left.tokens + tokens) };
};

/** Milliseconds until there are so many tokens, if nobody takes any. */
export const msUntil = (wanted: number, { tokens }: Tokens, limit: number): number =>
  Math.max(0, Math.ceil(((Math.min(wanted, limit) - tokens) * WINDOW_MS) / limit));
