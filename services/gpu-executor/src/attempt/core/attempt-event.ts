import {
  currentVersion,
  parseRunEvent,
  type RunEvent,
  type RunEventOf,
} from '@runledger/contracts/events/run-event';
import type { Assignment } from './assignment.ts';

type AttemptEventType = 'RunStarted' | 'RunUploading' | 'RunSucceeded' | 'RunFailed' | 'RunCancelled';
/** A fact that an executor wants to tell; the envelope follows from the assignment. */
export type EventDraft = {
  [T in AttemptEventType]: { type: T; data: RunEventOf<T>['data'] };
}[AttemptEventType];

export interface Stamp {
  event_id: string;
  time: string;
}

/** The event of a draft. It answers the assignment, and is written only if every reader can read it. */
export const eventOf = (assignment: Assignment, { type, data }: EventDraft, stamp: Stamp): RunEvent => {
  const { org_id, run_id, attempt, executor_id, event } = assignment;
  const parsed = parseRunEvent({
    type,
    version: currentVersion(type),
    ...stamp,
    run_id,
    org_id,
    writer: { service: 'gpu-executor', instance: executor_id },
    attempt,
    executor_id,
    correlation_id: event.correlation_id,
    causation_id: event.event_id,
    traceparent: event.traceparent,
    data,
  });
  if (parsed.kind !== 'event')
    throw new Error(`the executor drafted a ${type} that no reader takes: ${JSON.stringify(parsed)}`);
  return parsed.event;
};
