import type { EnforceCancel, TimeOut } from './decisions/decision.ts';
import type { Requirements } from './slots/requirements.ts';
import type { KnownRun } from './runs/known-run.ts';
import { cancelExpired, neverBegan, nobodyCan, ranTooLong, waitedTooLong } from './decisions/messages.ts';

export interface ExpiryCircumstances {
  readonly cancelEnforceMs: number;
  /** Whether an executor is there that could take such a run, if it had a free slot. */
  readonly hasCapacityFor: (demand: Requirements) => boolean;
}

/** The end of a run whose time is up. */
export const expired = (
  { key, head, event_id, run, requirements: demand }: KnownRun,
  { cancelEnforceMs, hasCapacityFor }: ExpiryCircumstances,
): TimeOut | EnforceCancel => {
  const on = { key, run, expected: head, answers: event_id };
  if (run.status === 'queued') {
    if (!hasCapacityFor(demand)) {
      return { ...on, type: 'time_out', reason: 'no_capacity', message: nobodyCan(demand) };
    }
    const message = waitedTooLong(run.request.start_deadline_s, demand);
    return { ...on, type: 'time_out', reason: 'start_deadline', message };
  }
  if (run.cancel) {
    return { ...on, run, type: 'enforce_cancel', message: cancelExpired(run, cancelEnforceMs / 1_000) };
  }
  if (run.status === 'started') {
    return { ...on, type: 'time_out', reason: 'start_deadline', message: neverBegan(run) };
  }
  return { ...on, type: 'time_out', reason: 'run_timeout', message: ranTooLong(run) };
};
