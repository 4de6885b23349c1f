import { Type, type Static, type TObject } from 'typebox';
import { EXECUTOR_ID_PATTERN } from '../ids.ts';
import { aboutEvent, eventReader, type WriterRole } from './event-envelope.ts';
import * as data from './run-event-data.ts';

const event = <const Name extends string, Data extends TObject>(type: Name, version: number, data: Data) =>
  Type.Object({
    type: Type.Literal(type),
    version: Type.Literal(version),
    ...aboutEvent,
    /** 0 before the first attempt. */
    attempt: Type.Integer({ minimum: 0 }),
    executor_id: Type.Union([Type.String({ pattern: EXECUTOR_ID_PATTERN }), Type.Null()]),
    /**
     * The SHA-256 of the message that its fence names, in base64url: of the bytes of its content. `append` adds it. Left out of a first
     * fact, and when its writer could not read that message.
     */
    previous_sha256: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' })),
    data,
  });

/** Every event type: its schema with the current version, its fact (the word in the subject), and its only writer. */
export const RUN_EVENTS = {
  RunQueued: { fact: 'queued', writer: 'gateway', schema: event('RunQueued', 1, data.RunQueuedData) },
  RunCancelRequested: {
    fact: 'cancel_requested',
    writer: 'gateway',
    schema: event('RunCancelRequested', 1, data.RunCancelRequestedData),
  },
  RunAssigned: {
    fact: 'assigned',
    writer: 'scheduler',
    schema: event('RunAssigned', 1, data.RunAssignedData),
  },
  RunRequeued: {
    fact: 'requeued',
    writer: 'scheduler',
    schema: event('RunRequeued', 1, data.RunRequeuedData),
  },
  RunTimedOut: { fact: 'ended', writer: 'scheduler', schema: event('RunTimedOut', 1, data.RunTimedOutData) },
  RunGivenUp: { fact: 'ended', writer: 'scheduler', schema: event('RunGivenUp', 1, data.RunGivenUpData) },
  RunCancelEnforced: {
    fact: 'ended',
    writer: 'scheduler',
    schema: event('RunCancelEnforced', 1, data.RunCancelEnforcedData),
  },
  RunExpired: { fact: 'ended', writer: 'gateway', schema: event('RunExpired', 1, data.RunExpiredData) },
  RunOutputsDeleted: {
    fact: 'outputs_deleted',
    writer: 'gateway',
    schema: event('RunOutputsDeleted', 1, data.RunOutputsDeletedData),
  },
  RunDeleted: { fact: 'deleted', writer: 'gateway', schema: event('RunDeleted', 1, data.RunDeletedData) },
  RunStarted: { fact: 'started', writer: 'executor', schema: event('RunStarted', 1, data.RunStartedData) },
  RunUploading: {
    fact: 'uploading',
    writer: 'executor',
    schema: event('RunUploading', 1, data.RunUploadingData),
  },
  RunAttemptFailed: {
    fact: 'requeued',
    writer: 'executor',
    schema: event('RunAttemptFailed', 1, data.RunAttemptFailedData),
  },
  RunSucceeded: {
    fact: 'ended',
    writer: 'executor',
    schema: event('RunSucceeded', 1, data.RunSucceededData),
  },
  RunFailed: { fact: 'ended', writer: 'executor', schema: event('RunFailed', 1, data.RunFailedData) },
  RunCancelled: {
    fact: 'ended',
    writer: 'executor',
    schema: event('RunCancelled', 1, data.RunCancelledData),
  },
} as const satisfies Record<string, { fact: string; writer: WriterRole; schema: TObject }>;

export type RunEventType = keyof typeof RUN_EVENTS;
export type RunEventOf<T extends RunEventType> = Static<(typeof RUN_EVENTS)[T]['schema']>;
export type RunEvent = { [T in RunEventType]: RunEventOf<T> }[RunEventType];
type LifecycleFact = (typeof RUN_EVENTS)[RunEventType]['fact'];

const AFTER_THE_END: ReadonlySet<string> = new Set<LifecycleFact>(['outputs_deleted', 'deleted']);

/** Whether a fact of this name is about a run that has ended: nothing is scheduled, executed or notified because of it. */
export const followsEnd = (fact: string): boolean => AFTER_THE_END.has(fact);

export const RUN_EVENT_TYPES = Object.keys(RUN_EVENTS) as RunEventType[];
/** The version that this release writes. */
export const currentVersion = (type: RunEventType): number =>
  RUN_EVENTS[type].schema.properties.version.const;

export const { parse: parseRunEvent, newerVersionOf: newerRunEvent } = eventReader<RunEventType, RunEvent>(
  RUN_EVENTS,
);
