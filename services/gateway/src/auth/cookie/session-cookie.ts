import type { Context } from 'koa';
import { Refused } from '../../http/refusal.ts';
import { hostCookie } from './host-cookie.ts';
import { cookieUse, requestSource, type RequestSource } from '../core/request-source.ts';

/** The cookie that holds the text of a session. No script can read it, and no other site can use it. */
export interface SessionCookie {
  /**
   * The text of the session in the cookie; undefined when the request has no cookie, or must not be answered as if it had one.
   * @throws {Refused} when it may change something, and nothing proves that our own page sent it
   */
  accepted(ctx: Context): string | undefined;
  /** As `accepted`, for what needs no session. @throws {Refused} also without a cookie, when a page of another site sent the request */
  ofVisitor(ctx: Context): string | undefined;
  set(ctx: Context, text: string, expiresAt: Date): void;
  clear(ctx: Context): void;
}

/** `publicUrl`: the setting; undefined without one, when clients use http. */
export const sessionCookie = (publicUrl: string | undefined): SessionCookie => {
  const cookie = hostCookie('runledger_session', publicUrl);
  const publicOrigin = URL.parse(publicUrl ?? '')?.origin;
  const sourceOf = (ctx: Context): RequestSource => {
    const { 'sec-fetch-site': site, origin, host } = ctx.headers;
    const secFetchSite = typeof site === 'string' ? site : undefined;
    return requestSource({ secFetchSite, origin, host }, publicOrigin);
  };
  const accepted: SessionCookie['accepted'] = (ctx) => {
    const text = cookie.read(ctx);
    if (text === undefined) return undefined;
    const source = sourceOf(ctx);
    switch (cookieUse(ctx.method, source)) {
      case 'accepted':
        return text;
      case 'ignored':
        return undefined;
      case 'refused':
        throw crossSite(source);
    }
  };
  return {
    accepted,
    ofVisitor: (ctx) => {
      // Else a page of another site could sign its visitor in, as somebody whom it knows.
      if (cookieUse(ctx.method, sourceOf(ctx)) === 'refused' && sourceOf(ctx) === 'foreign')
        throw crossSite('foreign');
      return accepted(ctx);
    },
    set: (ctx, text, expiresAt) => cookie.write(ctx, text, expiresAt),
    clear: (ctx) => cookie.clear(ctx),
  };
};

const crossSite = (source: RequestSource): Refused =>
  new Refused({
    code: 'cross_site_request',
    why:
      source === 'foreign'
        ? 'A page of another site sent this request, so nothing was done. Use the page of this server; behind a proxy, an operator sets RUNLEDGER_PUBLIC_URL to its address in the browser'
        : 'Nothing proves that a page of this server sent this request, so nothing was done: it has a cookie, and neither Sec-Fetch-Site: same-origin nor an Origin of this server. Use another browser, or send an API key instead of the cookie',
  });
