import type { CodeRows } from './code-row.ts';

/** People who sign in: what is wrong with a session, a sign-in, a member or an invitation. */
export const ACCOUNT_CODES = {
  not_signed_in: {
    status: 401,
    cause:
      'The request has a session that has ended, a cookie and a token of two different sessions, or needs a session and has none.',
    remedy: 'Sign in, or send an API key as "Authorization: Bearer <API_KEY>" where the operation takes one.',
  },
  sign_in_refused: {
    status: 401,
    cause: 'The e-mail and the password do not belong together. Which of them is unknown is not told.',
    remedy: 'Try again. Without the password, ask an operator for a link: runledger accounts link EMAIL.',
  },
  session_incomplete: {
    status: 401,
    cause:
      'The request has one half of a session: the cookie, which browsers send to every port of the host, or the token in the header Runledger-Session, which only the page has that signed in.',
    remedy: 'Sign in again in the console, which sends both. Programs send an API key instead.',
  },
  current_password_wrong: {
    status: 403,
    cause: 'The present password is missing or wrong, and a new one needs it.',
    remedy: 'Send it as current_password, or ask an operator for a link, which permits a new password.',
  },
  sign_in_not_begun: {
    status: 403,
    cause:
      'The answer of the provider belongs to no sign-in of this page: none was begun in it, it was finished already, took more than 10 minutes, or a later one replaced it.',
    remedy:
      'Begin again at the sign-in page. If it stays so, open the console at the address of RUNLEDGER_PUBLIC_URL.',
  },
  provider_refused: {
    status: 403,
    cause: 'The OpenID Connect provider did not sign the person in, such as when the person went back.',
    remedy: 'Begin again, or ask whoever runs the provider to let the person use this installation.',
  },
  provider_answer_invalid: {
    status: 403,
    cause:
      'The answer of the provider does not pass the checks: its code, or the signature, issuer, audience, times or nonce of its ID token.',
    remedy: 'Begin again. If it stays so, an operator finds the reason in the log of the gateway.',
  },
  email_not_verified: {
    status: 403,
    cause:
      'The provider tells no e-mail of the person, or does not say that it is verified (email_verified: true). At the first sign-in, only a verified e-mail says whose account it is.',
    remedy: 'Verify the e-mail at the provider, or sign in with a password or a link.',
  },
  person_unknown: {
    status: 403,
    cause: 'Nobody with the e-mail that the provider tells is a member of an organisation here.',
    remedy: 'Ask an owner of the organisation for an invitation, and open its link.',
  },
  invitation_for_another: {
    status: 403,
    cause: 'The invitation is for another e-mail than that of the person who signed in at the provider.',
    remedy: 'Sign in with the account of the invited e-mail, or ask for an invitation to the other one.',
  },
  organisation_not_chosen: {
    status: 403,
    cause: 'The person is no member of the organisation in which the session acts, or of any.',
    remedy: 'Choose one of GET /session with PATCH /session, or ask an owner for an invitation.',
  },
  api_key_needed: {
    status: 403,
    cause: 'A session cannot do this: it makes something that ends with the API key that made it.',
    remedy: 'Send an API key.',
  },
  provider_not_offered: {
    status: 404,
    cause: 'The installation offers no sign-in with OpenID Connect.',
    remedy: 'Sign in with a password or a link. An operator turns it on with RUNLEDGER_OIDC_ISSUER.',
  },
  member_not_found: {
    status: 404,
    cause: 'The organisation has no such member.',
    remedy: 'Read GET /members.',
  },
  invitation_not_found: {
    status: 404,
    cause: 'The organisation has no such open invitation: it is unknown, accepted, revoked or has ended.',
    remedy: 'Read GET /invitations.',
  },
  last_owner: {
    status: 409,
    cause: 'The member is the only owner of the organisation, which needs one.',
    remedy: 'Make another member an owner first.',
  },
  member_exists: {
    status: 409,
    cause: 'The person is a member of the organisation already.',
    remedy: 'Change the role of the member instead.',
  },
  identity_taken: {
    status: 409,
    cause: 'The person with this e-mail signs in with another account of the provider.',
    remedy: 'Use that account, or sign in with a password or a link.',
  },
  too_many_members: {
    status: 409,
    cause: 'The organisation has as many members, or open invitations, as it may.',
    remedy: 'Remove members, or revoke invitations, that are not needed.',
  },
  sign_in_link_gone: {
    status: 410,
    cause: 'The link was used, has ended, was replaced by a later one, or never existed.',
    remedy:
      'Ask an operator for another one: runledger accounts link EMAIL. A standalone prints one at each start.',
  },
  invitation_gone: {
    status: 410,
    cause:
      'The invitation was accepted, revoked, has ended, or never existed, or whoever made it may not invite any more.',
    remedy: 'Sign in if you accepted it. Otherwise ask an owner of the organisation for another one.',
  },
  sign_in_limited: {
    status: 429,
    cause: 'Too many sign-ins failed, with this e-mail or from this address.',
    remedy: 'Wait as long as the header Retry-After says.',
  },
  provider_unavailable: {
    status: 503,
    cause: 'The OpenID Connect provider cannot be reached, is too slow, or too many people sign in with it.',
    remedy: 'Try again, or sign in with a password or a link.',
  },
} as const satisfies CodeRows;
