import type { RunEventType } from './run-event.ts';
import type { WebhookEventType } from './webhook-event.ts';
import {
  MAX_ERROR_MESSAGE,
  MAX_EXPIRY_BYTES,
  MAX_FILE_INPUTS_BYTES,
  MAX_FIRST_FACT_BYTES,
  MAX_INLINE_BYTES,
  MAX_RUNNER_URL,
  MAX_WARNINGS_BYTES,
} from '../limits.ts';

/** An event without its data, and short members of the data. */
const SMALL = 2 * 1024;
const WITH_MESSAGE = SMALL + MAX_ERROR_MESSAGE;
/** Outputs, or a reference to them. */
const WITH_OUTPUTS = SMALL + MAX_INLINE_BYTES;

/**
 * The largest fact of each type: bytes as JSON in UTF-8, at most 10.5 KiB. `append` refuses a larger one. What an accepted run may
 * still have to write is computed from it.
 */
export const MAX_FACT_BYTES = {
  RunQueued: MAX_FIRST_FACT_BYTES,
  RunCancelRequested: SMALL,
  /** Inputs, the names of those that are files, and the address of a runner. It has more short members than others. */
  RunAssigned: SMALL + MAX_INLINE_BYTES + MAX_FILE_INPUTS_BYTES + MAX_RUNNER_URL + 256,
  RunRequeued: WITH_MESSAGE,
  RunTimedOut: WITH_MESSAGE,
  RunGivenUp: WITH_MESSAGE,
  RunCancelEnforced: WITH_MESSAGE,
  RunExpired: MAX_FIRST_FACT_BYTES + MAX_EXPIRY_BYTES,
  RunOutputsDeleted: SMALL,
  RunDeleted: SMALL,
  RunStarted: SMALL,
  RunUploading: SMALL,
  RunAttemptFailed: WITH_MESSAGE,
  RunSucceeded: WITH_OUTPUTS + MAX_WARNINGS_BYTES,
  RunFailed: WITH_OUTPUTS + MAX_ERROR_MESSAGE,
  RunCancelled: WITH_OUTPUTS,
  WebhookStarted: SMALL,
  WebhookDelivered: SMALL,
  WebhookGivenUp: WITH_MESSAGE,
  WebhookExpired: WITH_MESSAGE,
  WebhookRedeliveryRequested: SMALL,
} as const satisfies Readonly<Record<RunEventType | WebhookEventType, number>>;
