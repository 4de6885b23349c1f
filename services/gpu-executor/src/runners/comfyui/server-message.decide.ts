import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { UserNumber } from '@runledger/contracts/schemas';
import { doubleOf, type JsonNumber } from '@runledger/contracts/exact-number';
import { Type, type Static, type TSchema } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { parsePythonJson } from '../output/python-json.ts';

interface NodeStep {
  readonly node: string;
  readonly value: number;
  readonly max: number;
}

/** How far one node is. */
export interface NodeProgress extends NodeStep {
  readonly state: string;
}

export interface NodeFailure {
  readonly node: string;
  readonly class_type: string;
  /** The Python class of the exception, such as `torch.OutOfMemoryError`. */
  readonly exception: string;
  readonly message: string;
}

/** What the server says. `prompt_id` is null where a message has none. */
export type ServerMessage =
  | { readonly kind: 'started'; readonly prompt_id: string }
  | { readonly kind: 'cached'; readonly prompt_id: string; readonly nodes: readonly string[] }
  | { readonly kind: 'nodes'; readonly prompt_id: string; readonly nodes: readonly NodeProgress[] }
  /** `node` is null when the server has done with the prompt. */
  | { readonly kind: 'executing'; readonly prompt_id: string | null; readonly node: string | null }
  | ({ readonly kind: 'step'; readonly prompt_id: string } & NodeStep)
  | {
      readonly kind: 'executed';
      readonly prompt_id: string;
      readonly node: string;
      readonly output: unknown;
    }
  | { readonly kind: 'succeeded' | 'interrupted'; readonly prompt_id: string }
  | { readonly kind: 'failed'; readonly prompt_id: string; readonly failure: NodeFailure }
  | { readonly kind: 'text'; readonly prompt_id: null; readonly node: string; readonly text: string }
  | { readonly kind: 'preview'; readonly prompt_id: string | null }
  /** Of the server, not of a prompt: how long its queue is, what it can do, or a type that a later version adds. */
  | { readonly kind: 'other'; readonly type: string }
  | { readonly kind: 'unreadable' };

const Envelope = Type.Object({ type: Type.String(), data: Type.Optional(Type.Unknown()) });
const envelope = compiledSchema(Envelope);

const Prompt = { prompt_id: Type.String() };
const Steps = { value: UserNumber, max: UserNumber };
const stepsOf = ({
  value,
  max,
}: {
  readonly value: JsonNumber;
  readonly max: JsonNumber;
}): { readonly value: number; readonly max: number } => ({
  value: doubleOf(value) ?? 0,
  max: doubleOf(max) ?? 0,
});

const reader = <Schema extends TSchema>(
  schema: Schema,
  read: (data: Static<Schema>) => ServerMessage,
): ((data: unknown) => ServerMessage) => {
  const compiled = compiledSchema(schema);
  return (data) => (compiled.Check(data) ? read(data) : UNREADABLE);
};

const UNREADABLE: ServerMessage = { kind: 'unreadable' };

const Failure = Type.Object({
  ...Prompt,
  node_id: Type.String(),
  node_type: Type.String(),
  exception_type: Type.String(),
  exception_message: Type.String(),
});

const readFailed = reader(Failure, ({ prompt_id, ...failure }) => ({
  kind: 'failed',
  prompt_id,
  failure: {
    node: failure.node_id,
    class_type: failure.node_type,
    exception: failure.exception_type,
    message: failure.exception_message,
  },
}));

const READERS: ReadonlyMap<string, (data: unknown) => ServerMessage> = new Map([
  ['execution_start', reader(Type.Object(Prompt), ({ prompt_id }) => ({ kind: 'started', prompt_id }))],
  [
    'execution_cached',
    reader(Type.Object({ ...Prompt, nodes: Type.Array(Type.String()) }), ({ prompt_id, nodes }) => ({
      kind: 'cached',
      prompt_id,
      nodes,
    })),
  ],
  [
    'progress_state',
    reader(
      Type.Object({
        ...Prompt,
        nodes: Type.Record(Type.String(), Type.Object({ ...Steps, state: Type.String() })),
      }),
      ({ prompt_id, nodes }) => ({
        kind: 'nodes',
        prompt_id,
        nodes: Object.entries(nodes).map(([node, { state, ...steps }]) => ({
          node,
          state,
          ...stepsOf(steps),
        })),
      }),
    ),
  ],
  [
    'executing',
    reader(
      Type.Object({
        prompt_id: Type.Optional(Type.String()),
        node: Type.Union([Type.String(), Type.Null()]),
        display_node: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      }),
      ({ prompt_id, node, display_node }) => ({
        kind: 'executing',
        prompt_id: prompt_id ?? null,
        node: node === null ? null : (display_node ?? node),
      }),
    ),
  ],
  [
    'progress',
    reader(
      Type.Object({ ...Prompt, ...Steps, node: Type.String() }),
      ({ prompt_id, node, ...steps }): ServerMessage => ({
        kind: 'step',
        prompt_id,
        node,
        ...stepsOf(steps),
      }),
    ),
  ],
  [
    'executed',
    reader(
      Type.Object({ ...Prompt, node: Type.String(), output: Type.Optional(Type.Unknown()) }),
      ({ prompt_id, node, output }) => ({ kind: 'executed', prompt_id, node, output }),
    ),
  ],
  ['execution_success', reader(Type.Object(Prompt), ({ prompt_id }) => ({ kind: 'succeeded', prompt_id }))],
  [
    'execution_interrupted',
    reader(Type.Object(Prompt), ({ prompt_id }) => ({ kind: 'interrupted', prompt_id })),
  ],
  ['execution_error', readFailed],
]);

/** Reads a message of the websocket, which is text or a binary frame. */
export const readServerMessage = (data: string | Uint8Array): ServerMessage => {
  if (typeof data !== 'string') return readFrame(data);
  const value = parsePythonJson(data);
  return isJsonObject(value) && envelope.Check(value) ? readEvent(value.type, value.data) : UNREADABLE;
};

/** The same of an entry of a list of events, as a history entry has it. */
export const readEvent = (type: string, data: unknown): ServerMessage =>
  READERS.get(type)?.(data) ?? { kind: 'other', type };

/** All integers of a frame have four bytes, the highest first. */
const INTEGER_BYTES = 4;
const PREVIEW = 1;
const TEXT = 3;
const PREVIEW_WITH_METADATA = 4;

/** Reads a binary message: a preview, or a line of text of a node. */
const readFrame = (frame: Uint8Array): ServerMessage => {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (frame.byteLength < 2 * INTEGER_BYTES) return { kind: 'unreadable' };
  const type = view.getUint32(0);
  if (type === PREVIEW) return { kind: 'preview', prompt_id: null };
  if (type !== TEXT && type !== PREVIEW_WITH_METADATA) return { kind: 'other', type: `binary ${type}` };
  const length = view.getUint32(INTEGER_BYTES);
  const rest = 2 * INTEGER_BYTES + length;
  if (rest > frame.byteLength) return { kind: 'unreadable' };
  const head = decode(frame.subarray(2 * INTEGER_BYTES, rest));
  if (type === TEXT) return { kind: 'text', prompt_id: null, node: head, text: decode(frame.subarray(rest)) };
  const metadata = parseJson(head);
  const prompt_id = isJsonObject(metadata) ? metadata['prompt_id'] : undefined;
  return typeof prompt_id === 'string' ? { kind: 'preview', prompt_id } : { kind: 'unreadable' };
};

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
