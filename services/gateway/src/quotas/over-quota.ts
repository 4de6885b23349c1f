import { Refused } from '../http/refusal.ts';

/** The refusal of a request by which an organisation would exceed its quota. */
export const overQuota = (why: string): Refused => new Refused({ code: 'quota_reached', why });
