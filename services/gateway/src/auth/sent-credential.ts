import type { Context } from 'koa';
import type { RunTokenUse } from '../http/operation.ts';
import { Refused } from '../http/refusal.ts';
import { TOKEN_PARAMETER } from '../validation/unknown-parameters.ts';
import { bearerOf } from './bearer.ts';
import { halfSession, type SessionHalves } from './session/session-halves.ts';

/** The text of the credential of a request, and where it was. An API key is only read from the header `Authorization`. */
export interface SentCredential {
  readonly text: string;
  readonly from: 'header' | 'query' | 'session';
}

/** A bearer counts before a session. @throws {Refused} when there is none that counts, or one half of a session */
export const sentCredential = (
  ctx: Context,
  tokenUse: RunTokenUse | undefined,
  halves: Pick<SessionHalves, 'read'>,
): SentCredential => {
  const bearer = bearerOf(ctx.req);
  if (bearer !== undefined) return { text: bearer, from: 'header' };
  const queried = tokenUse?.inQuery === true ? ctx.query[TOKEN_PARAMETER] : undefined;
  if (typeof queried === 'string') return { text: queried, from: 'query' };
  const session = ctx.headers.authorization === undefined ? halves.read(ctx) : undefined;
  if (session?.kind === 'half') throw halfSession(session.lacks);
  if (session?.kind === 'whole') return { text: session.text, from: 'session' };
  throw new Refused({
    code: 'credential_missing',
    why: 'Not authenticated: send the header "Authorization: Bearer <API_KEY>"',
  });
};
