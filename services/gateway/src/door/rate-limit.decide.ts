/** The tokens that one gateway holds of a limit, and what it knows of the rest. Times are monotonic, in milliseconds. */
interface Lease {
  /** How many tokens to take the next time. */
  readonly size: number;
  /** How many the last time granted, and how many of those are left. */
  readonly granted: number;
  readonly unspent: number;
  readonly takenAt: number;
  /** The shared bucket as this gateway last saw it. */
  readonly shared: Tokens;
  /** Before this time the gateway does not read the shared bucket. */
  readonly emptyUntil: number;
}

/** What is left of a lease after this time goes back to the shared bucket. */
export const LEASE_MS = 1_000;
const QUICKLY_MS = 500;
/** Of a limit. Ten gateways hold less than a tenth of it, and one that spends all of it takes twice a second. */
const MAX_PORTION = 1 / 120;
/** Of a limit: how far an empty bucket has to refill before a gateway reads it again. */
const WORTH_TAKING_PORTION = 1 / 240;

const maxSize = (limit: number): number => Math.max(1, Math.floor(limit * MAX_PORTION));

export const emptyLease = (limit: number): Lease => ({
  size: 1,
  granted: 0,
  unspent: 0,
  takenAt: Number.NEGATIVE_INFINITY,
  shared: { tokens: limit, at: 0 },
  emptyUntil: 0,
});

/** Lets a request through without a token. */
export const uncounted = ({ shared, unspent }: Lease, now: number, limit: number): RateDecision => {
  const present = refilled(shared, now, limit);
  const remaining = Math.min(limit, unspent + Math.floor(present.tokens));
  const resetMs = msUntil(limit, { ...present, tokens: present.tokens + unspent }, limit);
  return { allowed: true, limit, remaining, resetS: Math.ceil(resetMs / 1000) };
};

/** Decides on one request, and spends a token when it is allowed; undefined when more tokens have to be taken first. */
export const spend = (
  lease: Lease,
  now: number,
  limit: number,
): { readonly decision: RateDecision; readonly lease: Lease } | undefined => {
  if (lease.unspent > 0) {
    const spent = { ...lease, unspent: lease.unspent - 1 };
    return { decision: uncounted(spent, now, limit), lease: spent };
  }
  if (now >= lease.emptyUntil) return undefined;
  const resetS = Math.max(1, Math.ceil((lease.emptyUntil - now) / 1000));
  return { decision: { allowed: false, limit, remaining: 0, resetS }, lease };
};

/** Before more is taken: a lease that was spent quickly is followed by a larger one. */
export const grown = (lease: Lease, now: number, limit: number): Lease =>
  lease.granted >= lease.size && now - lease.takenAt < QUICKLY_MS
    ? { ...lease, size: Math.min(maxSize(limit), lease.size * 2) }
    : lease;

/** With the tokens that were taken. */
export const granted = (lease: Lease, taken: Taken, now: number, limit: number): Lease => {
  const worthTaking = Math.max(1, Math.floor(limit * WORTH_TAKING_PORTION));
  const { tokens } = taken.left;
  return {
    size: lease.size,
    granted: taken.granted,
    unspent: taken.granted,
    takenAt: now,
    shared: { tokens, at: now },
    emptyUntil: tokens < 1 ? now + Math.max(1, msUntil(worthTaking, taken.left, limit)) : 0,
  };
};

/** Without the tokens that were not spent. The next lease is no larger than what was spent of this one. */
export const returned = (lease: Lease, now: number, limit: number): Lease => ({
  ...lease,
  size: Math.min(maxSize(limit), Math.max(1, lease.granted - lease.unspent)),
  unspent: 0,
  shared: putBack(lease.shared, now, limit, lease.unspent),
});

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
