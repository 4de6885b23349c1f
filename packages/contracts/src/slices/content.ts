import { Type, type Static } from 'typebox';

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
