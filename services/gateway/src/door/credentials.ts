import { randomBytes } from 'node:crypto';
import { SESSION_HEADER } from '@runledger/contracts/http/headers';
import type { Context } from 'koa';
import type { SentSession } from './operation.ts';
import { Refused } from './refusal.ts';
import { RunTokenScope } from '@runledger/contracts/http/runs/run-events';
import type { Signer } from '@runledger/webhooks/secret-box';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';

/** How a session travels: one half of its text in a cookie that no script reads, the other one in a header that only our own page sends. */
export interface SessionHalves {
  read(ctx: Context): SentSession;
  /** Gives the browser both. */
  give(ctx: Context, text: string, expiresAt: Date): void;
  /** Takes the cookie. The page forgets the token. */
  clear(ctx: Context): void;
}

/** `publicUrl`: the setting; undefined without one, when clients use http. */
export const sessionHalves = (publicUrl: string | undefined): SessionHalves => {
  const isSecure = URL.parse(publicUrl ?? '')?.protocol === 'https:';
  // Browsers take the prefix as a promise that this host set the cookie, over https, for all its paths.
  const name = isSecure ? '__Host-runledger_session' : 'runledger_session';
  const write = (ctx: Context, value: string, expires: Date): void =>
    ctx.append(
      'Set-Cookie',
      `${name}=${value}; Path=/; Expires=${expires.toUTCString()}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`,
    );
  return {
    read: (ctx) => {
      const [cookie, token] = [ctx.cookies.get(name) ?? '', ctx.get(SESSION_HEADER)];
      if (cookie !== '' && token !== '') return { kind: 'whole', text: textOf({ cookie, token }) };
      if (cookie === '' && token === '') return { kind: 'none' };
      return { kind: 'half', lacks: cookie === '' ? 'cookie' : 'token' };
    },
    give: (ctx, text, expiresAt) => {
      const halves = halvesOf(text);
      if (halves === undefined) throw new TypeError('This is not the text of a session.');
      write(ctx, halves.cookie, expiresAt);
      ctx.set(SESSION_HEADER, halves.token);
    },
    clear: (ctx) => write(ctx, '', new Date(0)),
  };
};

export const halfSession = (lacks: 'cookie' | 'token'): Refused =>
  new Refused({ code: 'session_incomplete', why: WHY[lacks] });

const WHY = {
  token: `The request has the cookie of a session, and lacks its token in the header ${SESSION_HEADER}, so nothing was done: a browser sends the cookie to every program that listens on this host. In the console, sign in again; a program sends an API key`,
  cookie: `The request has the token of a session in the header ${SESSION_HEADER}, and lacks the cookie of the same sign-in, so nothing was done. In the console, let the browser keep cookies of this host, and sign in again; a program sends an API key`,
} as const;

/**
 * The text of a session has two halves, each of 256 random bits. One is in a cookie, which a browser sends to every port of its host; the
 * other one is the token, which only pages of our own origin have. A session is found by the hash of both.
 */
interface Halves {
  readonly cookie: string;
  readonly token: string;
}

const HALF_BYTES = 32;
const SESSION_TEXT = /^(?<cookie>[\w-]{43})\.(?<token>[\w-]{43})$/;

export const newSessionText = (): string => textOf({ cookie: newHalf(), token: newHalf() });

const textOf = ({ cookie, token }: Halves): string => `${cookie}.${token}`;

/** Undefined for anything that `newSessionText` did not make. */
export const halvesOf = (text: string): Halves | undefined => {
  const { cookie, token } = SESSION_TEXT.exec(text)?.groups ?? {};
  return cookie === undefined || token === undefined ? undefined : { cookie, token };
};

const newHalf = (): string => randomBytes(HALF_BYTES).toString('base64url');

/** What a token permits: some reads of one run, in the name of the key that made it. */
const RunToken = Type.Object({
  org_id: Type.String(),
  run_id: Type.String(),
  key_id: Type.String(),
  scopes: Type.Array(RunTokenScope),
  /** Milliseconds since 1970. */
  expires_at: Type.Integer(),
});
export type RunToken = Static<typeof RunToken>;

/** The texts of tokens. A gateway stores none: the signature proves that one of them made it. */
export interface RunTokens {
  write(token: RunToken): string;
  /** Undefined for anything that no gateway wrote. The token may have expired, and its key may be revoked. */
  read(text: string): RunToken | undefined;
}

/** Other than those of API keys, so that people and logs recognise it. */
const PREFIX = 'rlt_';
const TOKEN_TEXT = /^(rlt_[\w-]+)\.([\w-]+)$/;

export const runTokens = (signer: Signer): RunTokens => ({
  write: (token) => {
    const claims = `${PREFIX}${Buffer.from(JSON.stringify(token)).toString('base64url')}`;
    return `${claims}.${signer.sign(claims)}`;
  },
  read: (text) => {
    const [, claims, signature] = TOKEN_TEXT.exec(text) ?? [];
    if (claims === undefined || signature === undefined || !signer.verifies(claims, signature))
      return undefined;
    const token: unknown = JSON.parse(Buffer.from(claims.slice(PREFIX.length), 'base64url').toString('utf8'));
    // A later release may write others.
    return Value.Check(RunToken, token) ? token : undefined;
  },
});
