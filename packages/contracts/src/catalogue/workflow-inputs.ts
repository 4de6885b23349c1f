import { Type, type Static } from 'typebox';
import { Exact, Json, UserNumber } from '../schemas.ts';

/** Types of inputs whose value is a file. They say what a form may offer; the workflow judges the content. */
const ONE_FILE = ['file', 'image', 'audio', 'video'] as const;
/** Types of inputs whose value is a list of files, which may be empty. */
const FILE_LIST = ['file[]', 'image[]', 'audio[]', 'video[]'] as const;
export const FILE_INPUT_TYPES = [...ONE_FILE, ...FILE_LIST] as const;
export type FileInputType = (typeof FILE_INPUT_TYPES)[number];

const TYPES: ReadonlySet<string> = new Set(FILE_INPUT_TYPES);
const LISTS: ReadonlySet<string> = new Set(FILE_LIST);
export const isFileInputType = (type: string): type is FileInputType => TYPES.has(type);
export const isFileListType = (type: string): type is (typeof FILE_LIST)[number] => LISTS.has(type);

/** What names a file in the value of an input that is a file, or a list of files: each in its place. */
export const namedFiles = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

/** What such a value, or an item of a list, names. */
export type FileValue =
  /** A file that was uploaded. */
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'url'; readonly url: string }
  /** The file itself, in a data URL (RFC 2397). */
  | {
      readonly kind: 'data';
      readonly content_type: string;
      readonly isBase64: boolean;
      readonly text: string;
    };

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const SCHEME_OF_URL = /^https?:\/\//i;
const DATA_URL = /^data:([^,]*?)(;base64)?,/i;
/** Of a data URL that does not say it. */
const PLAIN_TEXT = 'text/plain;charset=us-ascii';

/** Undefined for a value that is no file, judged by its form. */
export const readFileValue = (value: unknown): FileValue | undefined => {
  if (typeof value !== 'string') return undefined;
  if (UUID.test(value)) return { kind: 'id', id: value.toLowerCase() };
  if (SCHEME_OF_URL.test(value)) return { kind: 'url', url: value };
  const match = DATA_URL.exec(value);
  if (!match) return undefined;
  const [beginning, type = '', base64] = match;
  const content_type = type === '' ? PLAIN_TEXT : type;
  return { kind: 'data', content_type, isBase64: base64 !== undefined, text: value.slice(beginning.length) };
};

export const WorkflowInput = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 256 }),
  type: Type.Enum(['string', 'integer', 'number', 'boolean', 'array', ...FILE_INPUT_TYPES]),
  required: Type.Boolean(),
  /** Of a text: its values are sealed before they are stored, and shown to nobody. */
  secret: Type.Optional(Type.Literal(true)),
  /** Taken when a run leaves the input out, also a required one. */
  default: Type.Optional(Json),
  /** Of an integer: a run that leaves it out gets a random value within its bounds. Instead of a default. */
  random: Type.Optional(Type.Literal(true)),
  /** The values that a string or a number may have. */
  enum: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Number(), Exact]))),
  /** Of a number. */
  minimum: Type.Optional(UserNumber),
  maximum: Type.Optional(UserNumber),
  /** Of a list. */
  min_items: Type.Optional(Type.Integer({ minimum: 0 })),
  max_items: Type.Optional(Type.Integer({ minimum: 0 })),
  /** The node of the workflow that takes the value, and its field: both or neither. */
  node: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  field: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  description: Type.Optional(Type.String()),
});
export type WorkflowInput = Static<typeof WorkflowInput>;

/** An input, and the node of the workflow and its field that take the value. */
export const InputTarget = Type.Object({
  name: Type.String(),
  node: Type.String(),
  field: Type.String(),
});
export type InputTarget = Readonly<Static<typeof InputTarget>>;

/** Of the inputs of a workflow version. */
export const inputTargets = (inputs: readonly WorkflowInput[]): InputTarget[] =>
  inputs.flatMap(({ name, node, field }) =>
    node === undefined || field === undefined ? [] : [{ name, node, field }],
  );
