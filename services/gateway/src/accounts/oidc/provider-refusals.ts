import { Refused } from '../../http/refusal.ts';

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

export const notBegun = (): Refused =>
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
