import { isJsonObject } from '@runledger/contracts/json';
import { Type } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import type { MessageEnd } from './prompt-state.ts';
import { parsePythonJson } from '../../../runners/output/python-json.ts';
import { readEvent } from './server-message.ts';

/** Milliseconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** How a prompt ended, and what its nodes made. */
export interface PromptEnd {
  readonly end: MessageEnd;
  readonly outputs: Readonly<Record<string, unknown>>;
  /** When the server executed it, in milliseconds since 1970 on its clock; null when it does not say. */
  readonly span: Span | null;
}

export type ReadHistory =
  | ({ readonly kind: 'ended' } & PromptEnd)
  /** The prompt has not ended, or the server does not know it. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable' };

const Entry = Type.Object({
  outputs: Type.Record(Type.String(), Type.Unknown()),
  status: Type.Object({
    status_str: Type.String(),
    messages: Type.Array(Type.Tuple([Type.String(), Type.Unknown()])),
  }),
});
const entry = compiledSchema(Entry);

/** Reads the answer to `GET /history/{prompt_id}`. */
export const readHistory = (text: string, prompt_id: string): ReadHistory => {
  const answer = parsePythonJson(text);
  if (!isJsonObject(answer)) return { kind: 'unreadable' };
  const found = Object.hasOwn(answer, prompt_id) ? answer[prompt_id] : undefined;
  if (found === undefined) return { kind: 'absent' };
  if (!entry.Check(found)) return { kind: 'unreadable' };
  const { outputs, status } = found;
  const span = spanOf(status.messages);
  if (status.status_str === 'success') return { kind: 'ended', end: { kind: 'succeeded' }, outputs, span };
  const last = status.messages.map(([type, data]) => readEvent(type, data)).findLast(isEnd);
  if (last === undefined) return { kind: 'unreadable' };
  return { kind: 'ended', end: last, outputs, span };
};

/** An interrupted prompt has the status of a failed one; only its last message tells. */
const isEnd = (message: ReturnType<typeof readEvent>): message is Extract<typeof message, MessageEnd> =>
  message.kind === 'interrupted' || message.kind === 'failed';

const spanOf = (messages: readonly (readonly [string, unknown])[]): Span | null => {
  const times = messages.flatMap(([, data]) =>
    isJsonObject(data) && typeof data['timestamp'] === 'number' ? [data['timestamp']] : [],
  );
  const [from, to] = [times[0], times.at(-1)];
  return from === undefined || to === undefined ? null : { from, to };
};
