import type { Context } from 'koa';
import type { RunTokenUse } from '../http/operation.ts';
import { Refused } from '../http/refusal.ts';
import { bearerOf } from './bearer.ts';

/** RFC 6750, section 2.3. */
const IN_QUERY = 'access_token';

/** The text of the credential of a request, and where it was. An API key is never read from a query. */
export interface SentCredential {
  readonly text: string;
  readonly isInQuery: boolean;
}

/** @throws {Refused} when there is none */
export const sentCredential = (ctx: Context, tokenUse: RunTokenUse | undefined): SentCredential => {
  const bearer = bearerOf(ctx.req);
  if (bearer !== undefined) return { text: bearer, isInQuery: false };
  const queried = tokenUse?.inQuery === true ? ctx.query[IN_QUERY] : undefined;
  if (typeof queried === 'string') return { text: queried, isInQuery: true };
  throw new Refused({
    kind: 'not_authenticated',
    why: 'Not authenticated: send the header "Authorization: Bearer <API_KEY>"',
  });
};
