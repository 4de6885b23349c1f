const WORDS = {
  sign_in_not_begun:
    'This sign-in was not begun in this browser, was finished already, or took more than 10 minutes. Begin again. If it stays so, open the console at the address that its operator gave you.',
  provider_refused:
    'The provider did not sign you in: you went back, or its rules forbid it. Begin again, or ask whoever runs the provider.',
  provider_answer_invalid:
    'The answer of the provider does not pass the checks, so nobody is signed in. Begin again. If it stays so, the operator of this server finds the reason in its log.',
  provider_unavailable:
    'The provider cannot be reached now, or is too slow. Try again in a moment, or sign in with a password.',
  provider_not_offered: 'This server offers no sign-in with a provider. Sign in with a password or a link.',
  email_not_verified:
    'The provider does not say that it has verified your e-mail, so this server cannot know which account is yours. Verify it there, or sign in with a password or a link.',
  person_unknown:
    'Nobody with your e-mail is a member of an organisation here. Ask an owner of the organisation for an invitation, and open its link.',
  identity_taken:
    'The person with your e-mail signs in with another account of the provider. Use that account, or sign in with a password or a link.',
  invitation_for_another:
    'The invitation is for another e-mail than yours at the provider. Sign in there with the account that is invited, or ask for another invitation.',
  invitation_gone:
    'The invitation was accepted, revoked, or has ended. Sign in if you accepted it. Otherwise ask an owner of the organisation for another one.',
  too_many_members: 'The organisation has as many members as it may. Ask one of its owners to make room.',
  organisation_not_found: 'The organisation that invited you does not exist any more.',
  sign_in_limited: 'Too many sign-ins from your network failed. Try again in a minute.',
  log_unavailable: 'The server cannot reach its log now. Begin again in a moment.',
  audit_not_stored: 'The server cannot record sign-ins now, so nobody is signed in. Try again later.',
} as const;

interface RefusedSignIn {
  readonly code: string;
  /** What happened, and what to do. */
  readonly detail: string;
}

/** Why a sign-in with the provider was refused. `code` is what the address says: of others than ours, nothing is shown. */
export const refusedSignIn = (code: string): RefusedSignIn =>
  isKnown(code)
    ? { code, detail: WORDS[code] }
    : { code: 'unknown', detail: 'The sign-in did not succeed. Begin again.' };

const isKnown = (code: string): code is keyof typeof WORDS => Object.hasOwn(WORDS, code);
