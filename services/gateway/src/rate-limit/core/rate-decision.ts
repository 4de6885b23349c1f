import { WINDOW_MS } from './token-bucket.ts';

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
