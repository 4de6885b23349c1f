export interface RateDecision {
  readonly allowed: boolean;
  /** Requests a minute. */
  readonly limit: number;
  /** Requests that would be allowed now, as far as this gateway knows. */
  readonly remaining: number;
  /** Whole seconds: until the limit is complete again, or for a refused request, until it may be repeated. */
  readonly resetS: number;
}

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers, and Retry-After for a refused request; none where there is no
 * limit. https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export const rateHeaders = (decision: RateDecision | undefined): Readonly<Record<string, string>> => {
  if (!decision) return {};
  const { allowed, limit, remaining, resetS } = decision;
  return {
    'RateLimit-Policy': `"default";q=${limit};w=${WINDOW_MS / 1000}`,
    RateLimit: `"default";r=${remaining};t=${resetS}`,
    ...(allowed ? {} : { 'Retry-After': String(resetS) }),
  };
};

/** The tokens left of a limit at a time in milliseconds. Fractions of a token count. */
export interface Tokens {
  readonly tokens: number;
  readonly at: number;
}

/** A limit is a number of requests in this time. The bucket holds the same number of tokens, and an empty one is full again after this time. */
export const WINDOW_MS = 60_000;

/**
 * The tokens at a later time. A bucket that does not exist yet is full. A clock that was set back refills nothing until it
 * reaches its earlier time again, so no time counts twice. When it was set back by more than the window, that would take
 * too long, so its new time counts.
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

/** Takes whole tokens: at most the wanted number, and at most what the bucket holds. */
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

/** Milliseconds until the bucket has the wanted number of tokens, if none are taken. */
export const msUntil = (wanted: number, { tokens }: Tokens, limit: number): number =>
  Math.max(0, Math.ceil(((Math.min(wanted, limit) - tokens) * WINDOW_MS) / limit));
