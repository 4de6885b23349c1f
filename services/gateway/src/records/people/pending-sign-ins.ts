import type { SecretBox } from '@runledger/webhooks/secret-box';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { Refused } from '../../door/refusal.ts';

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

export const providerNotOffered = (): Refused =>
  new Refused({
    code: 'provider_not_offered',
    why: 'This installation offers no sign-in with OpenID Connect: use a password or a link. An operator turns it on with RUNLEDGER_OIDC_ISSUER',
  });

export const providerUnavailable = (): Refused =>
  new Refused({
    code: 'provider_unavailable',
    why: 'The provider at which you sign in cannot be reached now, or is too slow. Try again, or use your password',
  });

export const providerBusy = (): Refused =>
  new Refused({
    code: 'provider_unavailable',
    why: 'Too many people sign in with the provider at once. Try again in some seconds',
  });

export const providerRefused = (): Refused =>
  new Refused({
    code: 'provider_refused',
    why: 'The provider did not sign you in: you, or its rules for this installation, ended it. Begin again, or ask whoever runs the provider',
  });

export const providerInvalid = (): Refused =>
  new Refused({
    code: 'provider_answer_invalid',
    why: 'The answer of the provider does not pass the checks, so nobody is signed in. Begin again; if it stays so, an operator finds the reason in the log of the gateway',
  });

const notBegun = (): Refused =>
  new Refused({
    code: 'sign_in_not_begun',
    why: 'This sign-in was not begun in this browser, was finished already, or took more than 10 minutes. Begin again at the sign-in page. If it stays so, open the console at the address that its operator gave you',
  });

export const otherIdentity = (): Refused =>
  new Refused({
    code: 'identity_taken',
    why: 'The person with this e-mail signs in with another account of the provider. Use that one, or another way to sign in',
  });

/** Whether the provider gave no answer, or none about this sign-in. */
export const isUnreachable = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  if (code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT') return true;
  if (error.name === 'TypeError' && cause !== undefined) return true;
  return code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' && cause instanceof Response && cause.status >= 500;
};
