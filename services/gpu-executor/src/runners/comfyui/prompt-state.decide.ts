import { isJsonObject } from '@runledger/contracts/json';
import { Type } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { type ProgressReport, liveStatus } from '../runner.ts';
import {
  type NodeFailure,
  type NodeProgress,
  type ServerMessage,
  readEvent,
} from './server-message.decide.ts';
import { nodeInWorkflow, nodeTitle, type ComfyWorkflow } from './workflow.decide.ts';
import { parsePythonJson } from '../output/python-json.ts';

/** What the server's messages say of one prompt: a fold of them. Any may be lost, and those of other prompts are among them. */
export interface PromptState {
  readonly prompt_id: string;
  readonly workflow: ComfyWorkflow;
  /** Nodes of the workflow that are cached or have run. */
  readonly done: ReadonlySet<string>;
  /** Nodes that the server has begun to execute; those that it took from its cache are not among them. */
  readonly begun: ReadonlySet<string>;
  /** The nodes that run, by how far they are. */
  readonly running: ReadonlyMap<string, Steps>;
  /** The node that the server began last. */
  readonly current: string | null;
  /** The last line of text of a node, for people. */
  readonly note: { readonly node: string; readonly text: string } | null;
  readonly report: ProgressReport;
  /** What each node has made. */
  readonly outputs: Readonly<Record<string, unknown>>;
  /** What the server says about the end. It is final when the history has it, or the server has forgotten the prompt. */
  readonly end: MessageEnd | null;
  /** The server has done with the prompt. */
  readonly isOver: boolean;
}

interface Steps {
  readonly value: number;
  readonly max: number;
}

export type MessageEnd =
  | { readonly kind: 'succeeded' | 'interrupted' }
  | { readonly kind: 'failed'; readonly failure: NodeFailure };

/** The exception of a node that keeps those after it from running; the prompt continues without them. */
const BLOCKED = 'ExecutionBlocked';

export const newPrompt = (prompt_id: string, workflow: ComfyWorkflow): PromptState => ({
  prompt_id,
  workflow,
  done: new Set(),
  begun: new Set(),
  running: new Map(),
  current: null,
  note: null,
  report: { progress: 0, live_status: null },
  outputs: {},
  end: null,
  isOver: false,
});

export const evolvePrompt = (state: PromptState, message: ServerMessage): PromptState =>
  isOf(state, message) ? reported(state, evolve(state, message)) : state;

/** Previews and lines of text may have no id: with a client id of its own, a client gets only those of its prompt. */
const isOf = (state: PromptState, message: ServerMessage): boolean =>
  'prompt_id' in message && (message.prompt_id === null || message.prompt_id === state.prompt_id);

const evolve = (state: PromptState, message: ServerMessage): PromptState => {
  switch (message.kind) {
    case 'started':
    case 'preview':
    case 'other':
    case 'unreadable':
      return state;
    case 'cached':
      return { ...state, done: new Set([...state.done, ...message.nodes]) };
    case 'nodes':
      return withNodes(state, message.nodes);
    case 'executing':
      return message.node === null
        ? { ...state, isOver: state.isOver || message.prompt_id !== null }
        : { ...state, current: message.node, begun: new Set([...state.begun, message.node]) };
    case 'step': {
      const { node, value, max } = message;
      return { ...state, running: new Map(state.running).set(node, { value, max }) };
    }
    case 'text':
      return { ...state, note: { node: message.node, text: message.text } };
    case 'executed':
      return {
        ...state,
        done: new Set([...state.done, message.node]),
        outputs: { ...state.outputs, [message.node]: message.output },
      };
    case 'succeeded':
    case 'interrupted':
      return { ...state, end: { kind: message.kind } };
    case 'failed': {
      const { failure } = message;
      return failure.exception === BLOCKED ? state : { ...state, end: { kind: 'failed', failure } };
    }
  }
};

/** Such a message repeats all nodes that have begun. */
const withNodes = (state: PromptState, nodes: readonly NodeProgress[]): PromptState => {
  const inState = (wanted: string): NodeProgress[] => nodes.filter(({ state: each }) => each === wanted);
  const running = new Map(inState('running').map(({ node, value, max }) => [node, { value, max }]));
  const done = new Set([...state.done, ...inState('finished').map(({ node }) => node)]);
  const begun = new Set([...state.begun, ...running.keys()]);
  const last = [...running.keys()].at(-1);
  const current = last === undefined ? state.current : nodeInWorkflow(state.workflow, last);
  return {
    ...state,
    done,
    begun,
    running,
    current: running.has(state.current ?? '') ? state.current : current,
  };
};

/** Progress is the share of the workflow's nodes, each with its steps; the status names the node that runs. */
const reported = (before: PromptState, state: PromptState): PromptState => {
  const { workflow, done, running, end, report } = state;
  const ids = Object.keys(workflow);
  const parts = ids.map((id) => (done.has(id) ? 1 : shareOf(running.get(id))));
  const share = parts.reduce((sum, part) => sum + part, 0) / Math.max(ids.length, 1);
  const progress = Math.max(report.progress, end?.kind === 'succeeded' ? 1 : Math.min(share, 1));
  return { ...state, report: { progress, live_status: statusOf(before, state) } };
};

const shareOf = (steps: Steps | undefined): number =>
  steps === undefined || steps.max <= 0 ? 0 : Math.min(Math.max(steps.value / steps.max, 0), 1);

/** Stays as it is when the node that it names has ended, until another one begins. */
const statusOf = (before: PromptState, { workflow, current, running, note }: PromptState): string | null => {
  const steps = running.get(current ?? '');
  const isNew = current !== before.current || note !== before.note;
  if (current === null || (steps === undefined && !isNew)) return before.report.live_status;
  const id = nodeInWorkflow(workflow, current);
  const node = workflow[id];
  const title = node === undefined ? `node ${id}` : nodeTitle(node);
  const count = steps === undefined || steps.max <= 1 ? '' : ` ${steps.value}/${steps.max}`;
  return liveStatus(note?.node === current ? `${title}${count}: ${note.text}` : `${title}${count}`);
};

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

/** Where a prompt is in the queue of the server. `behind`: another prompt runs before it. */
export type QueuePosition = 'running' | 'pending' | 'behind' | 'absent' | 'unreadable';

const Item = Type.Array(Type.Unknown(), { minItems: 2 });
const queue = compiledSchema(
  Type.Object({ queue_running: Type.Array(Item), queue_pending: Type.Array(Item) }),
);
/** The extra data of an item: its fourth value. */
const clientData = compiledSchema(Type.Object({ client_id: Type.String() }));

/** Reads the answer to `GET /queue`. */
export const readQueuePosition = (text: string, prompt_id: string): QueuePosition => {
  const answer = parsePythonJson(text);
  if (!queue.Check(answer)) return 'unreadable';
  const { queue_running, queue_pending } = answer;
  const isThis = (item: readonly unknown[]): boolean => item[1] === prompt_id;
  if (queue_running.some(isThis)) return 'running';
  if (!queue_pending.some(isThis)) return 'absent';
  return queue_running.length > 0 ? 'behind' : 'pending';
};

export interface QueuedPrompt {
  readonly prompt_id: string;
  readonly client_id: string;
}

/** The prompts in the answer to `GET /queue` whose clients are named. */
export const readQueue = (text: string): readonly QueuedPrompt[] => {
  const answer = parsePythonJson(text);
  if (!queue.Check(answer)) return [];
  return [...answer.queue_running, ...answer.queue_pending].flatMap(([, prompt_id, , extra]) =>
    typeof prompt_id === 'string' && clientData.Check(extra)
      ? [{ prompt_id, client_id: extra.client_id }]
      : [],
  );
};
