import type { IncomingMessage } from 'node:http';
import type { ApiKey, KeyScope } from '@runledger/contracts/catalogue/records';
import { orgId } from '@runledger/contracts/ids';
import type { Context } from 'koa';
import { allows } from '@runledger/contracts/scopes';
import type { Caller, IdentifyCaller, OperationAccess, RunTokenUse } from './operation.ts';
import { Refused } from './refusal.ts';
import { rateHeaders } from './rate-limit.decide.ts';
import type { LimitRate } from './rate-limit.ts';
import { type RunToken, halfSession, type SessionHalves } from './credentials.ts';
import { TOKEN_PARAMETER } from './unknown-names.ts';
import type { ClientAddresses } from './edge.ts';

/** A valid API key, and the token if the request has one that the key made. Of a session, what it permits in the form of a key. */
export interface Credential {
  readonly key: ApiKey;
  readonly token?: RunToken;
  readonly session?: { readonly id: string };
}

/** Undefined when it is unknown, revoked or expired. The address is undefined when the connection was closed already. */
export type AuthenticateClient = (
  sent: SentCredential,
  address: string | undefined,
) => Promise<Credential | undefined>;

export type CredentialRefusal =
  | { readonly why: 'missing' | 'invalid'; readonly address: string | undefined }
  /** The key is valid. */
  | ({ readonly why: 'lacks_scope'; readonly address: string | undefined } & Pick<
      Credential,
      'key' | 'session'
    >)
  /** A sign-in. */
  | { readonly why: 'sign_in'; readonly address: string | undefined };

export type OnCredentialRefused = (refusal: CredentialRefusal) => void;

export const identifyCaller =
  (
    authenticate: AuthenticateClient,
    limitRate: LimitRate,
    addressOf: ClientAddresses['of'],
    halves: SessionHalves,
    onRefused: OnCredentialRefused,
  ): IdentifyCaller =>
  async (ctx, operation) => {
    const address = addressOf(ctx.req);
    const counted = <Result>(refusal: CredentialRefusal, work: () => Result): Result => {
      try {
        return work();
      } catch (error) {
        onRefused(refusal);
        throw error;
      }
    };
    const sent = counted({ why: 'missing', address }, () => sentCredential(ctx, operation.runToken, halves));
    const credential = await authenticate(sent, address);
    if (!credential) {
      onRefused({ why: 'invalid', address });
      throw INVALID[sent.from]();
    }
    const { key, session } = credential;
    const caller = counted({ why: 'lacks_scope', address, key, ...(session ? { session } : {}) }, () =>
      callerOf(ctx, operation, credential),
    );
    ctx.state['org_id'] = caller.org_id;
    const rate = await limitRate(caller.key);
    ctx.set(rateHeaders(rate));
    if (rate?.allowed === false) {
      throw new Refused({
        code: 'rate_limited',
        why: `${whoseRate(caller)} may make ${rate.limit} requests a minute. Try again in ${rate.resetS} s`,
        headers: { 'Retry-After': String(rate.resetS) },
      });
    }
    return { ...caller, address: address ?? null };
  };

const whoseRate = ({ token, session }: Pick<Caller, 'token' | 'session'>): string => {
  if (session) return 'The sessions of this person';
  return token
    ? 'The tokens of this API key and of the keys derived from it'
    : 'This API key, with the keys derived from it,';
};

export const CREDENTIAL_INVALID = 'The API key or token is invalid, expired or revoked';

export const notAuthenticated = (): Refused =>
  new Refused({ code: 'credential_invalid', why: CREDENTIAL_INVALID });

const notInQuery = (): Refused =>
  new Refused({
    code: 'credential_invalid',
    why: 'The token in the query is invalid, expired or revoked. Only a token of this run may stand there',
  });

export const notSignedIn = (): Refused =>
  new Refused({ code: 'not_signed_in', why: 'Nobody is signed in, or the session has ended: sign in' });

const INVALID: Readonly<Record<SentCredential['from'], () => Refused>> = {
  header: notAuthenticated,
  query: notInQuery,
  session: notSignedIn,
};

/** @throws {Refused} when the credential does not permit the operation */
const callerOf = (
  ctx: Context,
  operation: OperationAccess,
  { key, token, session }: Credential,
): Omit<Caller, 'address'> => {
  const { org_id, user_id } = key;
  const { scope, orScope = scope } = operation;
  if (!allows(key.scopes, scope) && !allows(key.scopes, orScope))
    throw session ? roleLacks(scope) : lacksScope(scope);
  if (session) return { org_id: orgId(org_id), user_id, key, session };
  if (token === undefined) return { org_id: orgId(org_id), user_id, key };
  refuseOther(ctx, operation, token);
  // Whoever has the token sees no more than the least key does, and uses up nothing that the key needs.
  return {
    org_id: orgId(org_id),
    user_id,
    key: { ...key, scopes: [scope], rate_key: rateOfTokens(key) },
    token,
  };
};

/** All tokens of a family of keys share a rate beside that of the keys: a visitor of a page must not use up that of its server. */
const rateOfTokens = ({ id, rate_key = id }: ApiKey): string => `${rate_key}-tokens`;

const refuseOther = (ctx: Context, { runToken }: OperationAccess, token: RunToken): void => {
  if (runToken === undefined)
    throw new Refused({
      code: 'run_token_not_enough',
      why: 'A token of a run cannot do this: send an API key',
    });
  if (!token.scopes.includes(runToken.scope))
    throw new Refused({ code: 'scope_missing', why: `This token lacks the scope ${runToken.scope}` });
  const { run_id }: Record<string, unknown> = ctx['params'] ?? {};
  if (String(run_id).toLowerCase() !== token.run_id)
    throw new Refused({ code: 'run_token_of_another_run', why: 'This token is for another run' });
};

/** The text of the credential of a request, and where it was. An API key is only read from the header `Authorization`. */
interface SentCredential {
  readonly text: string;
  readonly from: 'header' | 'query' | 'session';
}

/** A bearer counts before a session. @throws {Refused} when there is none that counts, or one half of a session */
const sentCredential = (
  ctx: Context,
  tokenUse: RunTokenUse | undefined,
  halves: SessionHalves,
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

/** The bearer credential of a request (RFC 6750); undefined when it has none. */
export const bearerOf = ({ headers }: IncomingMessage): string | undefined =>
  /^Bearer +([\x21-\x7e]+) *$/i.exec(headers.authorization ?? '')?.[1];

/** `instead`: what to do. */
export const lacksScope = (scope: KeyScope, instead?: string): Refused =>
  new Refused({
    code: 'scope_missing',
    why: `This API key lacks the scope ${scope}${instead === undefined ? '' : `. ${instead}`}`,
  });

/** Whose records a caller sees: an operator all, unless one organisation is named; anybody else their own. @throws {Refused} */
export const seenOrganisation = ({ org_id, key }: Caller, named: string | undefined): string | undefined => {
  const isOperator = allows(key.scopes, 'operator');
  if (named !== undefined && named !== org_id && !isOperator)
    throw lacksScope('operator', 'Leave organisation out to see your own');
  return isOperator ? named : org_id;
};

/** Of a person who is signed in. */
const roleLacks = (scope: KeyScope): Refused =>
  new Refused({
    code: 'scope_missing',
    why: `Your role in this organisation lacks the scope ${scope}: ask an owner for another role`,
  });
