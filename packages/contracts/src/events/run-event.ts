import { Type, type Static } from 'typebox';
import { EXECUTOR_ID_PATTERN } from '../ids.ts';
import { eventReader, eventTypes } from './event-envelope.ts';
import * as data from './run-event-data.ts';

const event = eventTypes({
  /** 0 before the first attempt. */
  attempt: Type.Integer({ minimum: 0 }),
  executor_id: Type.Union([Type.String({ pattern: EXECUTOR_ID_PATTERN }), Type.Null()]),
  /**
   * The SHA-256 of the message that its fence names, in base64url: of the bytes of its content. `append` adds it. Left out of a first
   * fact, and when its writer could not read that message.
   */
  previous_sha256: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' })),
});

/** Every event type. */
export const RUN_EVENTS = {
  RunQueued: event('RunQueued', 1, 'queued', 'gateway', data.RunQueuedData),
  RunCancelRequested: event(
    'RunCancelRequested',
    1,
    'cancel_requested',
    'gateway',
    data.RunCancelRequestedData,
  ),
  RunAssigned: event('RunAssigned', 1, 'assigned', 'scheduler', data.RunAssignedData),
  RunRequeued: event('RunRequeued', 1, 'requeued', 'scheduler', data.RunRequeuedData),
  RunTimedOut: event('RunTimedOut', 1, 'ended', 'scheduler', data.RunTimedOutData),
  RunGivenUp: event('RunGivenUp', 1, 'ended', 'scheduler', data.RunGivenUpData),
  RunCancelEnforced: event('RunCancelEnforced', 1, 'ended', 'scheduler', data.RunCancelEnforcedData),
  RunExpired: event('RunExpired', 1, 'ended', 'gateway', data.RunExpiredData),
  RunOutputsDeleted: event('RunOutputsDeleted', 1, 'outputs_deleted', 'gateway', data.RunOutputsDeletedData),
  RunDeleted: event('RunDeleted', 1, 'deleted', 'gateway', data.RunDeletedData),
  RunStarted: event('RunStarted', 1, 'started', 'executor', data.RunStartedData),
  RunUploading: event('RunUploading', 1, 'uploading', 'executor', data.RunUploadingData),
  RunAttemptFailed: event('RunAttemptFailed', 1, 'requeued', 'executor', data.RunAttemptFailedData),
  RunSucceeded: event('RunSucceeded', 1, 'ended', 'executor', data.RunSucceededData),
  RunFailed: event('RunFailed', 1, 'ended', 'executor', data.RunFailedData),
  RunCancelled: event('RunCancelled', 1, 'ended', 'executor', data.RunCancelledData),
} as const;

export type RunEventType = keyof typeof RUN_EVENTS;
export type RunEventOf<T extends RunEventType> = Static<(typeof RUN_EVENTS)[T]['schema']>;
export type RunEvent = { [T in RunEventType]: RunEventOf<T> }[RunEventType];
type LifecycleFact = (typeof RUN_EVENTS)[RunEventType]['fact'];

const AFTER_THE_END: ReadonlySet<string> = new Set<LifecycleFact>(['outputs_deleted', 'deleted']);

/** Whether a fact of this name is about a run that has ended: nothing is scheduled, executed or notified because of it. */
export const followsEnd = (fact: string): boolean => AFTER_THE_END.has(fact);

export const RUN_EVENT_TYPES = Object.keys(RUN_EVENTS) as RunEventType[];
export const isRunEventType = (type: string): type is RunEventType => Object.hasOwn(RUN_EVENTS, type);
/** The version that this release writes. */
export const currentVersion = (type: RunEventType): number =>
  RUN_EVENTS[type].schema.properties.version.const;

export const { parse: parseRunEvent, newerVersionOf: newerRunEvent } = eventReader<RunEventType, RunEvent>(
  RUN_EVENTS,
);
