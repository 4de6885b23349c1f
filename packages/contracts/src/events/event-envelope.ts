import { Type, type Static, type TLiteral, type TObject, type TProperties, type TSchema } from 'typebox';
import { Format } from 'typebox/format';
import { compiledSchema } from '../compiled-schema.ts';
import { UUID_PATTERN } from '../ids.ts';
import { isNestedAtMost } from '../json.ts';
import { MAX_EVENT_NESTING } from '../limits.ts';

const Uuid = Type.String({ format: 'uuid' });

/** Members of every event about a run. */
const aboutEvent = {
  /** UUIDv7; also the message id by which the broker removes duplicates. */
  event_id: Uuid,
  run_id: Uuid,
  org_id: Uuid,
  /** By the writer's clock, for people. The times of a run are the broker's timestamps. */
  time: Type.String({ format: 'date-time' }),
  /** `instance` distinguishes two processes of one service. */
  writer: Type.Object({
    service: Type.String({ maxLength: 64 }),
    instance: Type.String({ maxLength: 128 }),
  }),
  /** The same for all events that one request caused. */
  correlation_id: Type.String({ pattern: String.raw`^[\x21-\x7e]{1,128}$` }),
  /** The event that caused this one; null when a client's request did. */
  causation_id: Type.Union([Uuid, Type.Null()]),
  /** W3C trace context. */
  traceparent: Type.Union([Type.String({ pattern: '^[0-9a-f-]{1,64}$' }), Type.Null()]),
};

interface EventType<Name extends string, Fact, Writer, Members extends TProperties> {
  readonly fact: Fact;
  readonly writer: Writer;
  readonly schema: TObject<{ type: TLiteral<Name>; version: TLiteral<number> } & typeof aboutEvent & Members>;
}

/**
 * Makes the types of events about a run, each with its data beside `members`: its fact (the word in the subject), its only writer, and the
 * schema of its current version.
 */
export const eventTypes =
  <Members extends TProperties>(members: Members) =>
  <
    const Name extends string,
    const Fact extends string,
    const Writer extends WriterRole,
    Data extends TObject,
  >(
    type: Name,
    version: number,
    fact: Fact,
    writer: Writer,
    data: Data,
  ): EventType<Name, Fact, Writer, Members & { data: Data }> => ({
    fact,
    writer,
    schema: Type.Object({
      type: Type.Literal(type),
      version: Type.Literal(version),
      ...aboutEvent,
      ...members,
      data,
    }),
  });

/** The members of an event that depend on chance and time, so they come in as a parameter. Its run has the rest. */
export interface OwnEnvelope {
  readonly event_id: string;
  readonly run_id: string;
  readonly org_id: string;
  readonly time: string;
  readonly writer: { readonly service: string; readonly instance: string };
}

/** The same of what a request caused, of a run that is there: that has the correlation id. */
export interface EnvelopeForRun extends OwnEnvelope {
  readonly traceparent: string | null;
}

/** The same of the first fact of a run. */
export interface EventEnvelope extends EnvelopeForRun {
  readonly correlation_id: string;
}

/**
 * Of a later release: in a version that this one does not know, or of a type that it does not know in any version. A reader that skipped it
 * would derive a wrong state, so it stops.
 */
interface UnreadableEvent {
  readonly kind: 'newer_version';
  readonly type: string;
  readonly version: number;
}

export type ParsedEvent<Type extends string, Event> =
  /** `version`: in which it was written. */
  | { readonly kind: 'event'; readonly type: Type; readonly version: number; readonly event: Event }
  | UnreadableEvent
  | { readonly kind: 'invalid'; readonly why: string };

export interface EventReader<Type extends string, Event> {
  /** Reads an event from JSON. */
  readonly parse: (value: unknown) => ParsedEvent<Type, Event>;
  /** As `parse`, for a reader that needs no more: nothing but the envelope is checked. */
  readonly newerVersionOf: (value: unknown) => UnreadableEvent | undefined;
}

type EventSchema = TSchema & { readonly properties: { readonly version: TLiteral<number> } };

/** What every release can read of an event. Executors write types, and logs and slices show those that are not known: so it is one word. */
export const Envelope = compiledSchema(
  Type.Object({
    type: Type.String({ pattern: '^[A-Z][A-Za-z]{0,63}$' }),
    version: Type.Integer({ minimum: 1 }),
  }),
);

/**
 * Reads events of the given types from JSON. Objects are open: unknown members are kept and ignored.
 * `Event` is the union of the schemas' types.
 */
export const eventReader = <Name extends string, Event>(
  schemas: Readonly<Record<Name, { readonly schema: EventSchema }>>,
): EventReader<Name, Event> => {
  const isKnown = (text: string): text is Name => Object.hasOwn(schemas, text);
  const names = Object.keys(schemas).filter(isKnown);
  const validators = new Map(names.map((name) => [name, compiledSchema(schemas[name].schema)]));
  const newerVersionOf = (value: unknown): UnreadableEvent | undefined => {
    if (!Envelope.Check(value)) return undefined;
    const { type, version } = value;
    const known = isKnown(type) ? schemas[type].schema.properties.version.const : 0;
    return version > known ? { kind: 'newer_version', type, version } : undefined;
  };
  const parse = (value: unknown): ParsedEvent<Name, Event> => {
    if (!Envelope.Check(value)) return { kind: 'invalid', why: 'the event has no type and version' };
    const { type, version } = value;
    const newer = newerVersionOf(value);
    if (newer) return newer;
    const validator = isKnown(type) ? validators.get(type) : undefined;
    if (!isKnown(type) || !validator) throw new Error(`${type} has no schema.`);
    if (!isNestedAtMost(MAX_EVENT_NESTING, value)) {
      return { kind: 'invalid', why: `${type} nests more than ${MAX_EVENT_NESTING} levels` };
    }
    // Checked against the schema that `Event` is made from.
    if (validator.Check(value)) return { kind: 'event', type, version, event: value as Event };
    const [first] = validator.Errors(value);
    return {
      kind: 'invalid',
      why: `${type}${first?.instancePath ?? ''} ${first?.message ?? 'does not fit its schema'}`,
    };
  };
  return { parse, newerVersionOf };
};

/** The services that write facts, as the subject of a fact names them: `executor` is gpu-executor. */
export const WRITERS = ['gateway', 'scheduler', 'executor', 'notifier'] as const;
export const WriterRole = Type.Enum([...WRITERS]);
export type WriterRole = Static<typeof WriterRole>;

// Every event has some UUIDs and a time: the formats of typebox, which take most of the time of its check, said in other words.

const UUID = new RegExp(`^${UUID_PATTERN}$`, 'i');
Format.Set('uuid', (text) => UUID.test(text));

/** What services write. Days that not every month has, leap seconds and offsets are for the format of typebox. */
const USUAL_TIME =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?Z$/;
const isDateTime = Format.Get('date-time');
if (!isDateTime) throw new Error('typebox has no format "date-time".');
Format.Set('date-time', (text) => USUAL_TIME.test(text) || isDateTime(text));
