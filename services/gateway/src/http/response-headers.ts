/**
 * On every response, also on those that Node would write by itself: what OWASP's REST security cheat sheet lists.
 * X-Frame-Options is left out, since browsers that know `frame-ancestors` ignore it, and output files have rules of their own.
 */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'API-Version': 'V2',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

/** `Cache-Control` of a response that a client may cache, and has to revalidate each time. */
export const REVALIDATED = 'private, no-cache';

/** A year. Not for subdomains: they are not ours to decide on. */
const HSTS = 'max-age=31536000';

/** With the promise of https only where clients know us by it. */
export const commonHeaders = (publicUrl: string | undefined): Readonly<Record<string, string>> =>
  URL.parse(publicUrl ?? '')?.protocol === 'https:'
    ? { ...COMMON_HEADERS, 'Strict-Transport-Security': HSTS }
    : COMMON_HEADERS;
