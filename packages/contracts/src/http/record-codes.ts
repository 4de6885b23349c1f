import type { CodeRows } from './request-codes.ts';

const checkThe = (what: string): string =>
  `Check the ${what}, and that the key belongs to the organisation of the record.`;
const CHECK_ID = checkThe('id');
const unknown = (what: string): string =>
  `The organisation of the API key has no such ${what}, or it was deleted.`;

/** Records of an organisation, and what operators manage: what is not there, and what its state forbids. */
export const RECORD_CODES = {
  deployment_not_found: { status: 404, cause: unknown('deployment'), remedy: checkThe('id or the name') },
  deployment_archived: {
    status: 404,
    cause: 'The deployment is archived, so it accepts no runs. Nothing was queued.',
    remedy: 'Restore it with PATCH /deployments/{deployment_id}, or name another one.',
  },
  machine_not_found: { status: 404, cause: unknown('machine'), remedy: CHECK_ID },
  workflow_not_found: { status: 404, cause: unknown('workflow'), remedy: CHECK_ID },
  workflow_version_not_found: {
    status: 404,
    cause: unknown('workflow version, or it is one of another workflow'),
    remedy: checkThe('id or the number'),
  },
  schedule_not_found: { status: 404, cause: unknown('schedule'), remedy: CHECK_ID },
  secret_not_found: {
    status: 404,
    cause: 'The organisation of the API key has no secret with this name.',
    remedy: 'Read GET /secrets.',
  },
  file_not_found: {
    status: 404,
    cause: 'The organisation of the API key has no such file, or it was deleted or has expired.',
    remedy: 'Upload it again.',
  },
  upload_not_found: {
    status: 404,
    cause: 'The organisation of the API key has no such upload, or it has ended or expired.',
    remedy: 'Begin another one.',
  },
  model_not_found: {
    status: 404,
    cause:
      'The organisation of the API key keeps no such model, or it was removed because no version named it.',
    remedy: 'Upload the file, and keep it with PUT /models/{sha256}.',
  },
  api_key_not_found: {
    status: 404,
    cause:
      'The list of the calling key has no such key: it is unknown, revoked already, or not its to manage.',
    remedy: 'Read GET /api-keys. A key with the scope admin sees all keys of its organisation.',
  },
  executor_not_found: {
    status: 404,
    cause: 'No executor has this name, and the name is not drained.',
    remedy: 'Read GET /executors.',
  },
  dead_letter_not_found: {
    status: 404,
    cause: 'There is no dead letter with this id: it was redriven or removed, or has expired.',
    remedy: 'Read GET /dead-letters.',
  },
  organisation_not_found: {
    status: 404,
    cause: 'The installation has no organisation with this id.',
    remedy: 'Check the id.',
  },
  workflow_archived: {
    status: 409,
    cause: 'The workflow is archived, so it accepts no new versions.',
    remedy: 'Restore it first.',
  },
  deployment_not_restorable: {
    status: 409,
    cause: 'The machine, the workflow or the version of the archived deployment is archived or deleted.',
    remedy: 'Restore what the sentence names, or give the deployment another one in the same request.',
  },
  record_in_use: {
    status: 409,
    cause: 'A deployment, or a run that has not ended, uses the record.',
    remedy: 'Change, archive or delete what the sentence names, or wait for the end of the run, first.',
  },
  record_not_archived: {
    status: 409,
    cause: 'Only an archived record can be deleted.',
    remedy: 'Archive it, and delete it a minute later.',
  },
  record_archived_lately: {
    status: 409,
    cause:
      'The record was archived or changed less than a minute ago, and requests in progress may still use it.',
    remedy: 'Repeat the request after the seconds that the sentence names.',
  },
  newest_version: {
    status: 409,
    cause: 'The newest version of a workflow cannot be deleted: its number would be given again.',
    remedy: 'Create another version first, or delete the workflow.',
  },
  workflow_has_versions: {
    status: 409,
    cause: 'The workflow has other versions than its newest one.',
    remedy: 'Delete all but the newest one first.',
  },
  too_many_api_keys: {
    status: 409,
    cause: 'The organisation has as many API keys as it may have.',
    remedy: 'Revoke one that is not needed.',
  },
  api_key_too_deep: {
    status: 409,
    cause: 'The calling key has as many keys above it as a key may have.',
    remedy: 'Make the key with one of those.',
  },
  own_organisation: {
    status: 409,
    cause: 'The operator key belongs to the organisation that is to be erased, and would be revoked with it.',
    remedy: 'Use an operator key of another organisation.',
  },
  organisation_name_differs: {
    status: 409,
    cause: 'The organisation has another name than the request gives. Nothing was erased.',
    remedy: 'Check the id, and give the name as it is.',
  },
  sealing_key_differs: {
    status: 409,
    cause: 'The gateway seals with another key than the request names.',
    remedy:
      'Put the same key first in RUNLEDGER_SECRET_KEYS of all gateways and notifiers, restart them, and begin again.',
  },
  upload_offset_differs: {
    status: 409,
    cause: 'The bytes do not follow those that the upload has.',
    remedy: 'Read `Upload-Offset`, and continue there.',
  },
  upload_busy: {
    status: 409,
    cause: 'Another request stores bytes of this upload.',
    remedy: 'Wait until it has ended, read `Upload-Offset`, and continue there.',
  },
  upload_interrupted_too_often: {
    status: 409,
    cause: 'The upload has as many parts as an upload may have.',
    remedy: 'Begin another one.',
  },
  workflow_lost: {
    status: 410,
    cause: 'The workflow of the version is lost or damaged.',
    remedy: 'Create another version with the same workflow, which also repairs this one.',
  },
  version_has_no_code: {
    status: 404,
    cause: 'The version has a workflow only.',
    remedy: 'Read the workflow.',
  },
  code_lost: {
    status: 410,
    cause: 'The code of the version is lost or damaged.',
    remedy: 'Deploy the folder again, which also repairs it.',
  },
  model_lost: {
    status: 410,
    cause: 'A model of the version is lost in the store of models.',
    remedy: 'Upload the file, and keep it with PUT /models/{sha256}, which also repairs the version.',
  },
  workflow_too_large: {
    status: 413,
    cause: 'The workflow, or the definitions of its inputs, have more bytes as JSON than they may have.',
    remedy: 'Move large values to files or inputs.',
  },
  file_too_large: {
    status: 413,
    cause: 'The file is larger than the installation permits.',
    remedy: 'Send a smaller file, or ask the operator for a higher limit.',
  },
  upload_too_long: {
    status: 413,
    cause: 'More bytes were sent than the upload announced.',
    remedy: 'Begin another upload with the right `Upload-Length`.',
  },
} as const satisfies CodeRows;

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
