import { Type, type Static } from 'typebox';
import { compiledSchema } from '../compiled-schema.ts';
import { isNestedAtMost } from '../json.ts';
import { MAX_EVENT_NESTING } from '../limits.ts';

/**
 * A slice of the log, as a file: JSON lines. First a header, then facts and gaps in the order in which they were stored, last an end. A
 * file without its end is not whole. Readers ignore members that they do not know, and refuse another version.
 */
export const SLICE_VERSION = 1;

const Time = Type.String({ format: 'date-time' });
const Sequence = Type.Integer({ minimum: 0 });
const SlicedStream = Type.Enum(['RUNS', 'FLEET']);
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
  /** The time that it is about: facts of RUNS were stored at `from` or later, and before `to`. */
  from: Time,
  to: Time,
  /**
   * It holds the facts of RUNS from this time on, so that runs which were queued before `from` have their first facts. FLEET it
   * holds from its beginning, because an executor registers once.
   */
  lead_in_from: Time,
  /** Of runs; of all organisations when it is null. */
  organisation: Type.Union([Type.String({ format: 'uuid' }), Type.Null()]),
  /** Events are without inputs, outputs, addresses of webhooks, names of secrets and texts for people. */
  content: Type.Literal('left_out'),
  streams: Type.Object({ RUNS: StreamExtent, FLEET: StreamExtent }),
});
export type SliceHeader = Static<typeof SliceHeader>;

/** A message as the stream holds it; only its event is without content. */
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
  /** Null for a message that is no event which this release knows: no reader folds it. */
  event: Type.Union([Type.Object({}), Type.Null()]),
});
export type SliceFact = Static<typeof SliceFact>;

/** The stream no longer holds these. */
export const SliceGap = Type.Object({
  kind: Type.Literal('gap'),
  stream: SlicedStream,
  first_sequence: Type.Integer({ minimum: 1 }),
  last_sequence: Type.Integer({ minimum: 1 }),
});
export type SliceGap = Static<typeof SliceGap>;

export const SliceEnd = Type.Object({ kind: Type.Literal('end'), facts: Type.Integer({ minimum: 0 }) });
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
