import { Type, type Static, type TObject } from 'typebox';
import { Compile } from 'typebox/compile';
import * as data from './event-data.ts';
import { isNestedAtMost } from './json.ts';
import { MAX_EVENT_NESTING } from './limits.ts';
import type { WriterRole } from './writer.ts';

const Uuid = Type.String({ format: 'uuid' });

const event = <const Name extends string, Data extends TObject>(type: Name, version: number, data: Data) =>
  Type.Object({
    type: Type.Literal(type),
    version: Type.Literal(version),
    /** UUIDv7; also the message id by which the broker removes duplicates. */
    event_id: Uuid,
    run_id: Uuid,
    org_id: Uuid,
    /** The writer's clock, for people. Times of a run are the broker's time stamps. */
    time: Type.String({ format: 'date-time' }),
    /** `instance` tells two processes of one service apart. */
    writer: Type.Object({ service: Type.String(), instance: Type.String() }),
    /** 0 before the first attempt. */
    attempt: Type.Integer({ minimum: 0 }),
    executor_id: Type.Union([Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }), Type.Null()]),
    /** The same for everything that one request set off. */
    correlation_id: Type.String({ minLength: 1, maxLength: 255 }),
    /** The event that this one answers, null for a request from outside. */
    causation_id: Type.Union([Uuid, Type.Null()]),
    /** W3C trace context. */
    traceparent: Type.Union([Type.String({ maxLength: 255 }), Type.Null()]),
    data,
  });

/** Every event type: its schema with its present version, its fact (the word in the subject), and its one writer. */
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
  RunStarted: { fact: 'started', writer: 'executor', schema: event('RunStarted', 1, data.RunStartedData) },
  RunUploading: {
    fact: 'uploading',
    writer: 'executor',
    schema: event('RunUploading', 1, data.RunUploadingData),
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
export type LifecycleFact = (typeof RUN_EVENTS)[RunEventType]['fact'];

export const RUN_EVENT_TYPES = Object.keys(RUN_EVENTS) as RunEventType[];
export const isRunEventType = (text: string): text is RunEventType => Object.hasOwn(RUN_EVENTS, text);
/** The version that this release writes. */
export const currentVersion = (type: RunEventType): number =>
  RUN_EVENTS[type].schema.properties.version.const;

export type ParsedRunEvent =
  | { kind: 'event'; event: RunEvent }
  /** A type of a later release that no reader of this release needs: ignored. */
  | { kind: 'unknown_type'; type: string }
  /** Skipping it would make a wrong view, so the reader stops. */
  | { kind: 'newer_version'; type: RunEventType; version: number }
  | { kind: 'invalid'; why: string };

const Envelope = Compile(Type.Object({ type: Type.String(), version: Type.Integer({ minimum: 1 }) }));
const validators = Object.fromEntries(
  RUN_EVENT_TYPES.map((type) => [type, Compile(RUN_EVENTS[type].schema as TObject)]),
) as unknown as Record<
  RunEventType,
  {
    Check(value: unknown): value is RunEvent;
    Errors(value: unknown): { instancePath: string; message: string }[];
  }
>;

/** Reads an event from JSON. Objects stay open: members that this release does not know are kept and ignored. */
export const parseRunEvent = (value: unknown): ParsedRunEvent => {
  if (!Envelope.Check(value)) return { kind: 'invalid', why: 'the event has no type and version' };
  if (!isRunEventType(value.type)) return { kind: 'unknown_type', type: value.type };
  const version = currentVersion(value.type);
  if (value.version > version) return { kind: 'newer_version', type: value.type, version: value.version };
  if (!isNestedAtMost(MAX_EVENT_NESTING, value)) {
    return { kind: 'invalid', why: `${value.type} nests more than ${MAX_EVENT_NESTING} levels` };
  }
  const validator = validators[value.type];
  if (validator.Check(value)) return { kind: 'event', event: value };
  const [first] = validator.Errors(value);
  return {
    kind: 'invalid',
    why: `${value.type}${first?.instancePath ?? ''} ${first?.message ?? 'does not fit its schema'}`,
  };
};
