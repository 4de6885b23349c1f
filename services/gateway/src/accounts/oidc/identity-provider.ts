import type { Identity } from './core/identity.ts';

/** What an answer of the provider has to fit: it goes to the provider, or is kept, and comes back once. */
interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly code_verifier: string;
}

/** A provider at which people sign in. Both methods throw Refused with a code that says what is wrong. */
export interface IdentityProvider {
  /** How people know it. */
  readonly name: string;
  readonly issuer: string;
  /** The address at the provider to which a browser goes, and what its answer has to fit. */
  begin(redirectUri: string): Promise<{ readonly url: string; readonly checks: SignInChecks }>;
  /** Who signed in. `answer`: the address of the redirect with the query that the provider added. */
  finish(answer: URL, checks: SignInChecks): Promise<Identity>;
}
