import { Type, type Static } from 'typebox';
import { compiledSchema } from '../compiled-schema.ts';
import type { StoredMessage } from '../fold/chain.ts';
import { isNestedAtMost } from '../json.ts';
import { MAX_EVENT_NESTING } from '../limits.ts';

/** What facts have beside what decides when and where runs execute, and what each kind is. */
export const CONTENT_KINDS = {
  inputs:
    'inputs of runs, the references of large ones, the names of those that are files, and the hash of a request with a key',
  outputs: 'outputs of runs, and the references of large lists of them',
  addresses: 'where notifications are sent, and where runners are reached',
  texts:
    'messages for people, such as those of errors, what receivers answered, and the references of kept logs',
  tags: 'what clients named runs by: tags and concurrency keys',
  secret_names: 'the names of secret inputs; no slice has their values',
  traces: 'ids of requests and traces',
} as const;

// The keys of a literal are its names.
const NAMES = Object.keys(CONTENT_KINDS) as (keyof typeof CONTENT_KINDS)[];
export const ContentKind = Type.Enum(NAMES);
export type ContentKind = Static<typeof ContentKind>;

export const MAX_MASKS = 100;
const Pointer = Type.String({ pattern: '^(?:/(?:[^~/]|~[01])*)+$', maxLength: 512 });
/** Of an output: its data, a kind of data, or an item of it; or what its node says of itself. */
const OutputPointer = Type.String({
  pattern: String.raw`^/(?:data(?:/(?:[^~/]|~[01])*){0,2}|node_meta(?:/(?:[^~/]|~[01])*)*)$`,
  maxLength: 512,
});

/**
 * What of kept inputs and outputs is replaced: JSON pointers (RFC 6901) into the inputs of a run, and into each of its outputs, where
 * they begin with `/data` or `/node_meta`. A step `*` is every member or element.
 */
export const Masks = Type.Object(
  {
    inputs: Type.Optional(Type.Array(Pointer, { maxItems: MAX_MASKS })),
    outputs: Type.Optional(Type.Array(OutputPointer, { maxItems: MAX_MASKS })),
  },
  { additionalProperties: false },
);
export type Masks = Static<typeof Masks>;

/** Which content a slice has: none of it unless the kind is kept. */
export const SliceContent = Type.Object({ kept: Type.Array(ContentKind), masked: Masks });
export type SliceContent = Static<typeof SliceContent>;

export const NO_CONTENT: SliceContent = { kept: [], masked: {} };

/**
 * A slice of the log, as a file: JSON lines. First a header, then facts and gaps in the order in which they were stored, last an end. A
 * file without its end is not whole. Readers ignore members that they do not know, and refuse another version.
 */
export const SLICE_VERSION = 2;

const Time = Type.String({ format: 'date-time' });
const Sequence = Type.Integer({ minimum: 0 });
const Uuids = Type.Array(Type.String({ format: 'uuid' }));
export const SlicedStream = Type.Enum(['RUNS', 'FLEET', 'DELIVERY_ATTEMPTS']);
export type SlicedStream = Static<typeof SlicedStream>;

/** What the stream held when the slice was made. */
const StreamExtent = Type.Object({
  /** The broker's time of its creation: another stream of this name has another one. */
  created: Time,
  first_sequence: Sequence,
  last_sequence: Sequence,
});

export const SliceHeader = Type.Object({
  kind: Type.Literal('header'),
  version: Type.Literal(SLICE_VERSION),
  /** The time that it is about: facts of runs were stored at `from` or later, and before `to`. */
  from: Time,
  to: Time,
  /**
   * It holds the facts of RUNS and DELIVERY_ATTEMPTS from this time on, so that runs which were queued before `from` have their first
   * facts. FLEET it holds from its beginning, because an executor registers once.
   */
  warm_up_from: Time,
  /** Of runs of which organisations and deployments, and of which runs; of all where a list is empty. */
  organisations: Uuids,
  deployments: Uuids,
  runs: Uuids,
  content: SliceContent,
  streams: Type.Object({ RUNS: StreamExtent, FLEET: StreamExtent, DELIVERY_ATTEMPTS: StreamExtent }),
});
export type SliceHeader = Static<typeof SliceHeader>;

/** A message as the stream holds it; only its event is without the content that is not kept. */
export const SliceFact = Type.Object({
  kind: Type.Literal('fact'),
  stream: SlicedStream,
  sequence: Type.Integer({ minimum: 1 }),
  /** The broker's. */
  time: Time,
  subject: Type.String(),
  /** The condition of its append: the filter, and the sequence of the last message under it. */
  fence: Type.Union([Type.String(), Type.Null()]),
  expected_sequence: Type.Union([Sequence, Type.Null()]),
  /** Of DELIVERY_ATTEMPTS a `DeliveryAttempt` or a `DeliveryState`. Null for a message that is nothing which this release knows: no reader folds it. */
  event: Type.Union([Type.Object({}), Type.Null()]),
});
export type SliceFact = Static<typeof SliceFact>;

/** The stream no longer holds these. DELIVERY_ATTEMPTS holds only the latest state of a delivery, so it has many gaps. */
export const SliceGap = Type.Object({
  kind: Type.Literal('gap'),
  stream: SlicedStream,
  first_sequence: Type.Integer({ minimum: 1 }),
  last_sequence: Type.Integer({ minimum: 1 }),
});
export type SliceGap = Static<typeof SliceGap>;

const SliceEnd = Type.Object({ kind: Type.Literal('end'), facts: Type.Integer({ minimum: 0 }) });
type SliceEnd = Static<typeof SliceEnd>;

export type SliceLine = SliceHeader | SliceFact | SliceGap | SliceEnd;

const validators = {
  header: compiledSchema(SliceHeader),
  fact: compiledSchema(SliceFact),
  gap: compiledSchema(SliceGap),
  end: compiledSchema(SliceEnd),
};

/** What is in a line; undefined for one that this release cannot read. */
export const parseSliceLine = (value: unknown): SliceLine | undefined => {
  if (!isNestedAtMost(MAX_EVENT_NESTING + 1, value)) return undefined;
  for (const validator of [validators.fact, validators.gap, validators.header, validators.end])
    if (validator.Check(value)) return value;
  return undefined;
};

/** The message of a slice as readers of the log get it. */
export const messageOf = ({
  sequence,
  subject,
  time,
  fence,
  expected_sequence,
  event,
}: SliceFact): StoredMessage => ({
  sequence,
  subject,
  time,
  fence,
  expectedSequence: expected_sequence,
  body: event,
});
