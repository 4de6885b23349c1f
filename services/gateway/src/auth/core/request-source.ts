/** Which page sent a request: one of this server, one of another site, or nothing says it. */
export type RequestSource = 'own' | 'foreign' | 'unknown';

export interface SourceHeaders {
  /** Set by browsers at secure addresses and localhost. No page can set or change it. */
  readonly secFetchSite: string | undefined;
  /** Set by browsers for all requests that may change something. No page can set or change it. */
  readonly origin: string | undefined;
  readonly host: string | undefined;
}

/** `publicOrigin`: of the address at which browsers know the server. */
export const requestSource = (
  { secFetchSite, origin, host }: SourceHeaders,
  publicOrigin: string | undefined,
): RequestSource => {
  if (secFetchSite !== undefined) {
    if (secFetchSite === 'same-origin') return 'own';
    // `none`: a person typed the address, or followed a bookmark.
    return secFetchSite === 'none' && origin === undefined ? 'unknown' : 'foreign';
  }
  if (origin === undefined) return 'unknown';
  return origin === publicOrigin || (host !== undefined && isOfHost(origin, host)) ? 'own' : 'foreign';
};

const isOfHost = (origin: string, host: string): boolean =>
  [`http://${host}`, `https://${host}`].includes(origin);

/** What a request with the cookie of a session is. */
export type CookieUse =
  /** As if it had no cookie. */
  'ignored' | 'accepted' | 'refused';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * A page of another site can make browsers send the cookie. What it gets back it cannot read, so a read is answered as one without a
 * cookie; what may change something needs proof that our own page sent it.
 */
export const cookieUse = (method: string, source: RequestSource): CookieUse => {
  if (READS.has(method)) return source === 'foreign' ? 'ignored' : 'accepted';
  return source === 'own' ? 'accepted' : 'refused';
};
