import type { Context } from 'koa';
import type { RunTokenUse } from '../http/operation.ts';
import { Refused } from '../http/refusal.ts';
import { TOKEN_PARAMETER } from '../validation/unknown-parameters.ts';
import { bearerOf } from './bearer.ts';

/** The text of the credential of a request, and where it was. An API key is never read from a query. */
export interface SentCredential {
  readonly text: string;
  readonly isInQuery: boolean;
}

/** @throws {Refused} when there is none */
export const sentCredential = (ctx: Context, tokenUse: RunTokenUse | undefined): SentCredential => {
  const bearer = bearerOf(ctx.req);
  if (bearer !== undefined) return { text: bearer, isInQuery: false };
  const queried = tokenUse?.inQuery === true ? ctx.query[TOKEN_PARAMETER] : undefined;
  if (typeof queried === 'string') return { text: queried, isInQuery: true };
  throw new Refused({
    code: 'credential_missing',
    why: 'Not authenticated: send the header "Authorization: Bearer <API_KEY>"',
  });
};
