import { ACCOUNT_CODES, RECORD_CODES } from './record-codes.ts';
import { REQUEST_CODES, type CodeRow, type CodeRows } from './request-codes.ts';
import { ATTEMPT_CODES, RUN_CODES } from './run-codes.ts';

const AGAIN = 'Repeat the request after the seconds of Retry-After';

/** What is used up, full or cannot be reached. */
const CAPACITY_CODES = {
  rate_limited: {
    status: 429,
    cause:
      'The API key with the keys derived from it, or their tokens, have made as many requests as they may in a minute.',
    remedy: `${AGAIN}. The headers RateLimit and RateLimit-Policy say what is left.`,
  },
  queue_full: {
    status: 429,
    cause:
      'The organisation has as many queued runs as it may have (RUNLEDGER_QUEUE_MAX). Nothing was queued.',
    remedy: 'Repeat the request when some have started, or cancel some.',
  },
  quota_reached: {
    status: 429,
    cause: 'The organisation has reached the quota that the sentence names. Nothing was done.',
    remedy:
      'Delete what is not needed, or ask the operator for a higher quota. GET /usage shows all of them.',
  },
  too_many_streams: {
    status: 429,
    cause:
      'The organisation, or the API key with the keys derived from it, has as many streams and waiting reads open at this gateway as it may have.',
    remedy: 'Close some, or poll the run.',
  },
  too_many_uploads: {
    status: 429,
    cause:
      'The organisation has as many uploads in progress at this gateway as it may have (RUNLEDGER_QUOTA_UPLOADS).',
    remedy: 'Repeat the request when some have ended.',
  },
  rights_changed_too_often: {
    status: 429,
    cause:
      'The organisation has given rights, chosen passwords or read its signing secret so often within a week that the next record would make one of this week leave the audit log. Nothing was done.',
    remedy: `${AGAIN}: half an hour at most, unless the streams are small. Keys, members and invitations can be revoked and removed at once, also those that do this. An operator can raise auditRightsMaxBytes in RUNLEDGER_LOG_SETTINGS.`,
  },
  internal_error: {
    status: 500,
    cause: 'An error of the service.',
    remedy: 'Tell the operator the `request_id`: the log of the gateway has the details under it.',
  },
  log_unavailable: {
    status: 503,
    cause:
      'The log of runs cannot be reached. A request that was in progress may or may not have taken effect.',
    remedy: `${AGAIN}, with the same Idempotency-Key: it queues one run.`,
  },
  log_full: {
    status: 503,
    cause: 'The log has no room for what the request would store. Accepted runs continue. Nothing was done.',
    remedy:
      'Repeat the request when runs have ended or old ones have expired. An operator can raise runsMaxBytes in RUNLEDGER_LOG_SETTINGS.',
  },
  audit_not_stored: {
    status: 503,
    cause: 'The audit record of the request could not be stored, so nothing was done.',
    remedy: 'Repeat the request. An operator looks whether the broker is available and its disk has room.',
  },
  views_unavailable: {
    status: 503,
    cause:
      'The store of runs for lists, and for runs that the log no longer has, cannot be reached or is too slow. Nothing was done.',
    remedy: `${AGAIN}, with the same Idempotency-Key, or read a run by its id.`,
  },
  archive_unavailable: {
    status: 503,
    cause: 'The archive, which has the facts of older runs, cannot be read.',
    remedy: `${AGAIN}. An operator finds the reason in the log of the gateway.`,
  },
  output_store_unavailable: {
    status: 503,
    cause: 'The store of files cannot be reached.',
    remedy: `${AGAIN}.`,
  },
  scheduler_unavailable: {
    status: 503,
    cause: 'No scheduler leads, or the leader does not respond.',
    remedy: `${AGAIN}. An operator checks that a scheduler is running.`,
  },
  scheduler_behind: {
    status: 503,
    cause: 'The scheduler has not read yet what the response would show. What the request stored holds.',
    remedy: `${AGAIN}.`,
  },
  run_unreadable: {
    status: 503,
    cause: 'The facts of the run are damaged, forged, or of a later release than this gateway.',
    remedy: 'Tell the operator the `request_id`. `runledger verify` explains what is wrong.',
  },
  changed_concurrently: {
    status: 503,
    cause: 'Others changed the same run or record again and again at the same time. Nothing was done.',
    remedy: `${AGAIN}.`,
  },
  gateway_streams_full: {
    status: 503,
    cause: 'This gateway has as many streams open as it may have (RUNLEDGER_STREAMS_MAX).',
    remedy: `${AGAIN}: another gateway may have room. Or poll the run.`,
  },
  gateway_stopping: {
    status: 503,
    cause: 'This gateway is stopping.',
    remedy: `${AGAIN}: another gateway, or the next one, responds.`,
  },
  workflow_store_full: {
    status: 507,
    cause: 'The store of workflows is full. Nothing was created.',
    remedy: 'Ask the operator to raise workflowsMaxBytes in RUNLEDGER_LOG_SETTINGS.',
  },
  blob_store_full: {
    status: 507,
    cause: 'The store of large inputs, lists of outputs and logs is full. Nothing was stored.',
    remedy:
      'Send inputs of at most 4 KiB, such as ids of files, or ask the operator to raise blobsMaxBytes in RUNLEDGER_LOG_SETTINGS.',
  },
  output_store_full: {
    status: 507,
    cause: 'The store of files is full. Nothing was stored.',
    remedy: 'Delete files and runs that are not needed, or ask the operator for more room.',
  },
} as const satisfies CodeRows;

/** What operations of the API answer with. */
const OF_OPERATIONS = {
  ...REQUEST_CODES,
  ...RUN_CODES,
  ...RECORD_CODES,
  ...ACCOUNT_CODES,
  ...CAPACITY_CODES,
} as const;

/**
 * Every code of a refusal, with its status. A code is stable: its name, its status and its meaning never change. Clients may meet new
 * ones.
 */
export const REFUSAL_CODES = { ...OF_OPERATIONS, ...ATTEMPT_CODES } as const;

export type RefusalCode = keyof typeof REFUSAL_CODES;

/** For the page of all codes. */
export const CODE_GROUPS: readonly {
  readonly title: string;
  readonly codes: Readonly<Record<string, CodeRow>>;
}[] = [
  { title: 'Requests', codes: REQUEST_CODES },
  { title: 'Runs', codes: RUN_CODES },
  { title: 'Records', codes: RECORD_CODES },
  { title: 'People', codes: ACCOUNT_CODES },
  { title: 'Limits, stores and outages', codes: CAPACITY_CODES },
  { title: 'Attempts', codes: ATTEMPT_CODES },
];

export const statusOf = (code: RefusalCode): number => REFUSAL_CODES[code].status;

/** The codes that operations of the API answer with this status. */
export const codesOfOperations = (status: number): string[] =>
  Object.entries<CodeRow>(OF_OPERATIONS).flatMap(([code, row]) => (row.status === status ? [code] : []));
