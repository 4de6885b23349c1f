import { Refused } from '../http/refusal.ts';

/** Use ends when runs start or clients leave. Retrying earlier does not help. */
const RETRY_AFTER_S = 5;

/** The refusal of a request by which an organisation would exceed its quota. */
export const overQuota = (why: string): Refused =>
  new Refused({ kind: 'too_many', why, retryAfterS: RETRY_AFTER_S });
