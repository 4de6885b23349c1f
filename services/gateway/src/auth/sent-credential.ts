import type { Context } from 'koa';
import type { RunTokenUse } from '../http/operation.ts';
import { Refused } from '../http/refusal.ts';
import { TOKEN_PARAMETER } from '../validation/unknown-parameters.ts';
import { bearerOf } from './bearer.ts';
import type { SessionCookie } from './cookie/session-cookie.ts';

/** The text of the credential of a request, and where it was. An API key is only read from the header, and a session from the cookie. */
export interface SentCredential {
  readonly text: string;
  readonly from: 'header' | 'query' | 'cookie';
}

/** A bearer counts before a cookie. @throws {Refused} when there is none that counts */
export const sentCredential = (
  ctx: Context,
  tokenUse: RunTokenUse | undefined,
  cookie: SessionCookie,
): SentCredential => {
  const bearer = bearerOf(ctx.req);
  if (bearer !== undefined) return { text: bearer, from: 'header' };
  const queried = tokenUse?.inQuery === true ? ctx.query[TOKEN_PARAMETER] : undefined;
  if (typeof queried === 'string') return { text: queried, from: 'query' };
  const session = ctx.headers.authorization === undefined ? cookie.accepted(ctx) : undefined;
  if (session !== undefined) return { text: session, from: 'cookie' };
  throw new Refused({
    code: 'credential_missing',
    why: 'Not authenticated: send the header "Authorization: Bearer <API_KEY>"',
  });
};
