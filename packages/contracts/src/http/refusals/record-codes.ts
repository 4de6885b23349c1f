import type { CodeRows } from './code-row.ts';

const CHECK_ID = 'Check the id, and that the key belongs to the organisation of the record.';
const unknown = (what: string): string =>
  `The organisation of the API key has no such ${what}, or it was deleted.`;

/** Records of an organisation, and what operators manage: what is not there, and what its state forbids. */
export const RECORD_CODES = {
  deployment_not_found: { status: 404, cause: unknown('deployment'), remedy: CHECK_ID },
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
    remedy: CHECK_ID,
  },
  schedule_not_found: { status: 404, cause: unknown('schedule'), remedy: CHECK_ID },
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
