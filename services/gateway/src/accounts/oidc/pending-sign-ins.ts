import type { SecretBox } from '@runledger/webhooks/signing/secret-box';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { notBegun } from './provider-refusals.ts';

const PendingSignIn = Type.Object({
  checks: Type.Object({ state: Type.String(), nonce: Type.String(), code_verifier: Type.String() }),
  /** The token of the invitation that the person accepts with it. */
  invitation: Type.Optional(Type.String()),
  /** Milliseconds since 1970. */
  expires_at: Type.Number(),
});
type PendingSignIn = Static<typeof PendingSignIn>;

/**
 * Sign-ins that have gone to the provider, each as a sealed text that its page keeps: any gateway finishes it, and nothing is stored. It is in no
 * cookie, since every port of the host can set those: a program there could put its own sign-in into the browser of somebody else.
 */
export interface PendingSignIns {
  seal(pending: Omit<PendingSignIn, 'expires_at'>): string;
  /** @throws {Refused} when it was not sealed here, has another state, or has ended */
  open(sealed: string, state: string): PendingSignIn;
}

const KEEP_MS = 10 * 60_000;
const CONTEXT = 'oidc sign-in';

export const pendingSignIns = (box: SecretBox, now: () => Date): PendingSignIns => ({
  seal: (pending) => box.seal(JSON.stringify({ ...pending, expires_at: now().getTime() + KEEP_MS }), CONTEXT),
  open: (sealed, state) => {
    const pending = opened(box, sealed);
    // Any page can lead the browser here with an answer of its own.
    if (pending === undefined || pending.checks.state !== state) throw notBegun();
    if (pending.expires_at <= now().getTime()) throw notBegun();
    return pending;
  },
});

/** Undefined for what no gateway of this installation has sealed. */
const opened = (box: SecretBox, sealed: string): PendingSignIn | undefined => {
  try {
    const value: unknown = JSON.parse(box.open(sealed, CONTEXT));
    return Value.Check(PendingSignIn, value) ? value : undefined;
  } catch {
    return undefined;
  }
};
