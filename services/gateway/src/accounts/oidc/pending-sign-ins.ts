import type { SecretBox } from '@runledger/webhooks/signing/secret-box';
import type { Context } from 'koa';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { hostCookie } from '../../auth/cookie/host-cookie.ts';
import { notBegun } from './provider-refusals.ts';

const PendingSignIn = Type.Object({
  checks: Type.Object({ state: Type.String(), nonce: Type.String(), code_verifier: Type.String() }),
  /** Where the browser goes afterwards: a page of this server. */
  return_to: Type.String(),
  /** The token of the invitation that the person accepts with it. */
  invitation: Type.Optional(Type.String()),
  /** The text of the session that the browser had. */
  session: Type.Optional(Type.String()),
  /** Milliseconds since 1970. */
  expires_at: Type.Number(),
});
export type PendingSignIn = Static<typeof PendingSignIn>;

/** Sign-ins that have gone to the provider, each in a sealed cookie of its browser: any gateway finishes it, and nothing is stored. */
export interface PendingSignIns {
  /** A later one of the same browser replaces it. */
  put(ctx: Context, pending: Omit<PendingSignIn, 'expires_at'>): void;
  /** The one with this state, which the browser forgets. @throws {Refused} without such a one, or when it has ended */
  take(ctx: Context, state: unknown): PendingSignIn;
}

const KEEP_MS = 10 * 60_000;
const CONTEXT = 'oidc sign-in';

export const pendingSignIns = (
  box: SecretBox,
  publicUrl: string | undefined,
  now: () => Date,
): PendingSignIns => {
  const cookie = hostCookie('runledger_oidc', publicUrl);
  return {
    put: (ctx, pending) => {
      const expires_at = now().getTime() + KEEP_MS;
      cookie.write(ctx, box.seal(JSON.stringify({ ...pending, expires_at }), CONTEXT), new Date(expires_at));
    },
    take: (ctx, state) => {
      const sealed = cookie.read(ctx);
      const pending = sealed === undefined ? undefined : opened(box, sealed);
      // One of another tab, or none: a page of another site can lead the browser here, too.
      if (pending === undefined || pending.checks.state !== state) throw notBegun();
      cookie.clear(ctx);
      if (pending.expires_at <= now().getTime()) throw notBegun();
      return pending;
    },
  };
};

/** Undefined for what no gateway of this installation has sealed. */
const opened = (box: SecretBox, sealed: string): PendingSignIn | undefined => {
  try {
    const value: unknown = JSON.parse(box.open(sealed, CONTEXT));
    return Value.Check(PendingSignIn, value) ? value : undefined;
  } catch {
    return undefined;
  }
};
