import { MAX_OUTPUT_FILES } from '../limits.ts';
import type { CodeRows } from './request-codes.ts';

/** Runs: what is not there, and what their state forbids. */
export const RUN_CODES = {
  run_not_found: {
    status: 404,
    cause:
      'The organisation of the API key has no such run: it never had, or the run is older than the organisation keeps runs.',
    remedy: 'Check the id, and that the key belongs to the organisation of the run.',
  },
  run_deleted: {
    status: 404,
    cause:
      'A client of the organisation deleted the run. It is told from an unknown one while the log has the deletion, 7 days by default.',
    remedy: 'None: it is not shown any more. GET /run/{run_id}/tombstone says when and by whom.',
  },
  no_run_at_that_time: {
    status: 404,
    cause: 'The run was queued later than the moment that `at` or `at_seq` names.',
    remedy: 'Name a later moment. The history of the run has its first one.',
  },
  tombstone_not_found: {
    status: 404,
    cause:
      'No deletion of this run, or erasure of this organisation, is known. That of a run leaves the log with its age, after 7 days by default.',
    remedy: 'Check the id.',
  },
  output_not_found: {
    status: 404,
    cause: 'The address is not one that the service made, or the file was deleted or has expired.',
    remedy: 'Read the run again, and use the address that it shows.',
  },
  idempotency_key_reused: {
    status: 409,
    cause: 'The organisation used the Idempotency-Key for another request. Nothing was queued.',
    remedy: 'Send this request with a new key, or the first request again.',
  },
  idempotency_key_of_deleted_run: {
    status: 409,
    cause: 'The run that was queued with this Idempotency-Key was deleted. Nothing was queued.',
    remedy: 'Send the request with a new key to queue another run.',
  },
  run_outlives_log: {
    status: 409,
    cause:
      'With its delay, its time limits and its attempts the run could live longer than the log keeps events.',
    remedy: 'Ask for shorter ones, or change those of the deployment.',
  },
  inputs_gone: {
    status: 409,
    cause: 'The inputs of the run that is to be run again have expired or are damaged. Nothing was queued.',
    remedy: 'Send the inputs with the request.',
  },
  workflow_gone: {
    status: 409,
    cause: 'The workflow version of the run was deleted, or its workflow is lost. Nothing was queued.',
    remedy: 'Queue the deployment instead.',
  },
  run_not_ended: {
    status: 409,
    cause: 'The run has not ended, and only a run that has ended can be deleted or notified of again.',
    remedy: 'Wait for its end, or cancel it, and repeat the request then.',
  },
  notification_not_settled: {
    status: 409,
    cause: 'The final notification of the run is still to be delivered, and is made from the run.',
    remedy: 'Wait until its `webhook_status` is `success` or `failed`, and delete it then.',
  },
  run_has_no_webhook: {
    status: 409,
    cause: 'The run was queued without a webhook, so there is no notification to send again.',
    remedy: 'Set `webhook` when a run is queued. Read this run instead.',
  },
  redeliveries_used_up: {
    status: 409,
    cause: 'The notification was redelivered as often as it may be.',
    remedy: 'Read the run instead.',
  },
  run_events_expired: {
    status: 409,
    cause: 'The events of the run have left the log, and a notification is made from them.',
    remedy: 'Read the run instead, which is kept longer.',
  },
  output_address_expired: {
    status: 410,
    cause: 'The address of the output was valid for a time, which is over.',
    remedy: 'Read the run again: it shows another address.',
  },
  run_history_expired: {
    status: 410,
    cause: 'Neither the log nor the archive has the facts of the run that this is made from.',
    remedy: 'Read the run itself. An archive, where the operator has one, keeps facts as long as runs.',
  },
  inputs_too_large: {
    status: 413,
    cause: 'The inputs have more bytes as JSON than a run, or a schedule, may have.',
    remedy: 'Upload large values as files, and name their ids.',
  },
  too_many_inputs: {
    status: 413,
    cause: 'The request has more inputs than a run may have.',
    remedy: 'Put several values into one list.',
  },
  run_too_large: {
    status: 413,
    cause: 'The run does not fit into an event of the log.',
    remedy: 'Send smaller inputs, and fewer tags.',
  },
} as const satisfies CodeRows;

const QUEUE_AGAIN = 'Queue the run again, with its inputs.';

/** What executors get, with the token of an attempt. No operation of the API gives these. */
export const ATTEMPT_CODES = {
  attempt_token_invalid: {
    status: 401,
    cause: 'The token is not that of the attempt that the path names.',
    remedy: 'None: the executor ends the attempt, unless the gateway has not read the assignment yet.',
  },
  attempt_over: {
    status: 409,
    cause: 'The attempt is not the one that executes: the run has ended, or a later attempt has begun.',
    remedy: 'None: its result does not count.',
  },
  output_not_announced: {
    status: 409,
    cause:
      'The attempt stores a file before it has announced its files in the log, or more bytes than it announced.',
    remedy: 'None for clients: the executor announces its files first.',
  },
  output_superseded: {
    status: 409,
    cause: 'A later attempt stores its files, or the same file was sent again meanwhile.',
    remedy: 'None: the later one counts.',
  },
  assigned_workflow_lost: {
    status: 410,
    cause: 'The workflow that the run was queued with is no longer in the store.',
    remedy: 'Create another version with the same workflow, and queue the run again.',
  },
  assigned_version_deleted: {
    status: 410,
    cause: 'The workflow version that the run was queued with was deleted.',
    remedy: 'Create another one, and queue the run again.',
  },
  assigned_inputs_lost: {
    status: 410,
    cause: 'The inputs that the run was queued with are no longer in the store.',
    remedy: QUEUE_AGAIN,
  },
  input_file_gone: {
    status: 410,
    cause: 'A file that the inputs name was deleted or has expired, or the inputs do not name it.',
    remedy: 'Upload the file, and queue the run again.',
  },
  too_many_outputs: {
    status: 413,
    cause: `A run stores more than ${MAX_OUTPUT_FILES} files.`,
    remedy: 'Store fewer files, such as one archive of many.',
  },
  outputs_too_large: {
    status: 413,
    cause: 'The files of a run have more bytes together than they may (RUNLEDGER_OUTPUT_RUN_MAX_BYTES).',
    remedy: 'Store less, or ask the operator for a higher limit.',
  },
  run_log_too_large: {
    status: 413,
    cause: 'The log of the attempt is larger than a log may be.',
    remedy: 'None: the attempt ends without its log.',
  },
  assigned_workflow_damaged: {
    status: 424,
    cause: 'The workflow in the store is not what the run was queued with.',
    remedy: 'Create another version with the same workflow, and queue the run again.',
  },
  assigned_inputs_damaged: {
    status: 424,
    cause: 'The inputs in the store are not what the run was queued with.',
    remedy: QUEUE_AGAIN,
  },
  secret_inputs_unreadable: {
    status: 424,
    cause:
      'The secret inputs cannot be opened: their key is no longer in RUNLEDGER_SECRET_KEYS, or they were changed.',
    remedy: QUEUE_AGAIN,
  },
  secrets_unreadable: {
    status: 424,
    cause:
      'A secret of the organisation cannot be opened: its key is no longer in RUNLEDGER_SECRET_KEYS, or it was changed.',
    remedy: 'Set the secret again with PUT /secrets/{name}, and queue the run again.',
  },
  attempt_uploads_limited: {
    status: 503,
    cause:
      'The organisation has as many uploads in progress at this gateway as it may have (RUNLEDGER_QUOTA_UPLOADS).',
    remedy: 'None: the executor tries again.',
  },
  storage_quota_reached: {
    status: 507,
    cause:
      'With what the attempt stores the organisation would have more files, lists of outputs or logs than its quota.',
    remedy: 'Delete runs, wait until old files expire, or ask the operator for a higher quota.',
  },
} as const satisfies CodeRows;
