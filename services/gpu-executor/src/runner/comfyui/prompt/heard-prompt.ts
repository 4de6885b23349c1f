import { evolvePrompt, newPrompt, type PromptState } from '../core/prompt-state.ts';
import type { ServerMessage } from '../core/server-message.ts';
import { unreadInput, type Witnesses } from '../core/witnesses.ts';
import type { ComfyWorkflow } from '../core/workflow.ts';
import { liveStatus, type RunObserver } from '../../../runners/runner.ts';
import { openComfySocket } from '../server/comfy-socket.ts';
import type { ComfyApi } from '../server/comfy-api.ts';

/** What a client hears of its prompt. */
export interface HeardPrompt extends Disposable {
  /** Resolves when the server can tell it, or cannot be reached for that. */
  readonly opened: Promise<void>;
  readonly state: () => PromptState;
  /** Milliseconds since the server gave a sign that it works on prompts. */
  readonly silentMs: () => number;
  /** The server works on other prompts meanwhile. */
  readonly excuse: () => void;
  /** Resolves when the server has done with the prompt. */
  readonly over: Promise<void>;
  /** Aborted when the server tells that an input is nothing: what the prompt would make is not what was asked for. */
  readonly hopeless: AbortSignal;
  /** Listens anew. */
  readonly renew: () => void;
}

interface HeardOptions {
  readonly api: ComfyApi;
  /** Its own for each attempt, so that nobody else is told of it, and this client of nothing else. */
  readonly clientId: string;
  readonly prompt_id: string;
  readonly workflow: ComfyWorkflow;
  readonly witnesses: Witnesses;
  readonly observe: RunObserver;
}

export const hearPrompt = (options: HeardOptions): HeardPrompt => {
  const { api, clientId, prompt_id, workflow, witnesses, observe } = options;
  let state = newPrompt(prompt_id, workflow);
  let signOfLife = performance.now();
  const over = Promise.withResolvers<void>();
  const hopeless = new AbortController();
  const hear = (message: ServerMessage): void => {
    if (isSignOfLife(message)) signOfLife = performance.now();
    const before = state.report;
    state = evolvePrompt(state, message);
    if (message.kind === 'text') observe.log({ stream: 'stdout', line: liveStatus(message.text) });
    if (before.progress !== state.report.progress || before.live_status !== state.report.live_status)
      observe.progress(state.report);
    if (state.isOver) over.resolve();
    if (message.kind === 'executed' && unreadInput(workflow, witnesses, state.outputs)) hopeless.abort();
  };
  const socket = openComfySocket(api.socketUrl(clientId), hear);
  return {
    opened: socket.opened,
    state: () => state,
    silentMs: () => performance.now() - signOfLife,
    excuse: () => {
      signOfLife = performance.now();
    },
    over: over.promise,
    hopeless: hopeless.signal,
    renew: () => socket.renew(),
    [Symbol.dispose]: () => socket[Symbol.dispose](),
  };
};

/** A server whose worker is dead goes on answering, and tells a new connection which node runs. */
const isSignOfLife = (message: ServerMessage): boolean =>
  message.kind !== 'other' &&
  message.kind !== 'unreadable' &&
  !(message.kind === 'executing' && message.prompt_id === null);
