import type { Limit } from '@runledger/contracts/requests/queue-position';
import type { EnforceCancel, TimeOut } from '../decisions/decision.ts';
import {
  cancelExpired,
  neverBegan,
  noRoomFor,
  nobodyCan,
  ranTooLong,
  storedTooLong,
  waitedAtLimit,
  waitedTooLong,
} from '../decisions/messages.ts';
import { decisionBase, type KnownRun } from '../runs/known-run.ts';
import type { Requirements } from '../slots/requirements.ts';

export interface ExpiryCircumstances {
  readonly cancelEnforceMs: number;
  /** Whether an executor is registered that can take such a run as soon as a slot is free. */
  readonly hasCapacityFor: (requirements: Requirements) => boolean;
  /** Whether the log has room for an attempt. */
  readonly hasRoom: boolean;
  /** What keeps a waiting run from a slot, beside the slots that are taken. */
  readonly limit: Limit | undefined;
}

/** The end of a run whose deadline has passed. */
export const expired = (
  known: KnownRun,
  { cancelEnforceMs, hasCapacityFor, hasRoom, limit }: ExpiryCircumstances,
): TimeOut | EnforceCancel => {
  const { run, requirements } = known;
  const base = { ...decisionBase(known), run };
  if (run.status === 'queued') {
    if (!hasCapacityFor(requirements)) {
      return { ...base, type: 'time_out', reason: 'no_capacity', message: nobodyCan(requirements) };
    }
    if (!hasRoom) return { ...base, type: 'time_out', reason: 'storage_full', message: noRoomFor(run) };
    const message = limit
      ? waitedAtLimit(run, limit)
      : waitedTooLong(run.request.start_deadline_s, requirements);
    return { ...base, type: 'time_out', reason: 'start_deadline', message };
  }
  if (run.cancel) {
    return { ...base, run, type: 'enforce_cancel', message: cancelExpired(run, cancelEnforceMs / 1_000) };
  }
  if (run.status === 'started') {
    return { ...base, type: 'time_out', reason: 'start_deadline', message: neverBegan(run) };
  }
  const message = run.status === 'uploading' ? storedTooLong(run) : ranTooLong(run);
  return { ...base, type: 'time_out', reason: 'run_timeout', message };
};
