import { MAX_OUTPUT_FILES } from '../../limits.ts';
import type { CodeRows } from './code-row.ts';

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
