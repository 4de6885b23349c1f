import {
  currentVersion,
  parseRunEvent,
  type RunEvent,
  type RunEventOf,
} from '@runledger/contracts/events/run-event';
import type { Assignment } from './assignment.ts';

type AttemptEventType =
  | 'RunStarted'
  | 'RunUploading'
  | 'RunAttemptFailed'
  | 'RunSucceeded'
  | 'RunFailed'
  | 'RunCancelled';
/** An event that an executor wants to store, without what follows from the assignment. */
export type EventDraft = {
  [T in AttemptEventType]: { type: T; data: RunEventOf<T>['data'] };
}[AttemptEventType];

export interface Stamp {
  readonly event_id: string;
  readonly time: string;
}

/** The event of a draft, caused by the assignment. @throws when a reader could not parse it, which is a bug */
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
    throw new Error(`the executor made a ${type} that no reader can parse: ${JSON.stringify(parsed)}`);
  return parsed.event;
};
