import { sleep, untilAborted } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import { within } from '@runledger/resilience/within';
import type { ProcessEnd } from '../../supervision/supervised-process.ts';
import { type PromptEnd, evolvePrompt, newPrompt, type PromptState } from './prompt-state.decide.ts';
import type { ComfyLease } from './comfy-server.ts';
import { lookUp, type LookedUp, type ComfyApi } from './comfy-api.ts';
import { type ServerMessage, readServerMessage } from './server-message.decide.ts';
import { unreadInput, type Witnesses } from './witnesses.decide.ts';
import type { ComfyWorkflow } from './workflow.decide.ts';
import { liveStatus, type RunObserver } from '../runner.ts';

export type Followed =
  | ({ readonly kind: 'ended' } & PromptEnd)
  /** The executor's own server has ended. */
  | { readonly kind: 'server_ended'; readonly end: ProcessEnd }
  /** The server answers, and does not know the prompt any more. */
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'unreachable'; readonly why: string }
  /** The server says that the prompt runs, and gives no sign of it. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'stopped' };

export interface FollowLimits {
  /** For this time a server may be silent about a prompt that runs. */
  readonly silenceMs: number;
  /** For this time it may not answer at all. */
  readonly unreachableMs: number;
}

const LOOK_EVERY_MS = 2_000;
/** A connection that is silent for so long is opened anew. */
const RENEW_AFTER_MS = 60_000;

/** Follows a prompt to its end, by what the server tells and by asking it, for what it tells may be lost. */
export const followPrompt = async (
  lease: ComfyLease,
  heard: HeardPrompt,
  limits: FollowLimits,
  signal: AbortSignal,
): Promise<Followed> => {
  const serverEnded = lease.ended.then((end): Followed => ({ kind: 'server_ended', end }));
  const looking = new AbortController();
  const stop = AbortSignal.any([signal, looking.signal]);
  const found = Promise.race([serverEnded, untilFound(lease, heard, limits, stop)]);
  try {
    return (await untilAborted(found, signal)) ?? { kind: 'stopped' };
  } finally {
    looking.abort();
  }
};

const untilFound = async (
  { api }: ComfyLease,
  heard: HeardPrompt,
  { silenceMs, unreachableMs }: FollowLimits,
  signal: AbortSignal,
): Promise<Followed> => {
  const { prompt_id } = heard.state();
  let answeredAt = performance.now();
  let renewAfterMs = RENEW_AFTER_MS;
  while (!signal.aborted) {
    await Promise.race([heard.over, sleep(LOOK_EVERY_MS, signal)]);
    const found = await lookUp(api, prompt_id);
    if (found.kind !== 'unclear') answeredAt = performance.now();
    else if (performance.now() - answeredAt > unreachableMs) return { kind: 'unreachable', why: found.why };
    if (found.kind === 'ended') return found;
    if (found.kind === 'unknown') return endAsHeard(heard);
    if (found.kind === 'behind') heard.excuse();
    const silentMs = heard.silentMs();
    if (silentMs < RENEW_AFTER_MS) renewAfterMs = RENEW_AFTER_MS;
    if (silentMs > silenceMs && found.kind !== 'unclear') return { kind: 'silent' };
    if (silentMs > renewAfterMs) {
      heard.renew();
      renewAfterMs += RENEW_AFTER_MS;
    }
    // What was heard as over is not in the history yet.
    if (heard.state().isOver) await sleep(LOOK_AGAIN_MS, signal);
  }
  return { kind: 'stopped' };
};

const LOOK_AGAIN_MS = 100;

/** Somebody may have cleared the history before it was read. */
const endAsHeard = (heard: HeardPrompt): Followed => {
  const { end, outputs } = heard.state();
  return end === null ? { kind: 'forgotten' } : { kind: 'ended', end, outputs, span: null };
};

/**
 * Stops a prompt: takes it from the queue, or interrupts it. An interrupt may be lost, so it is repeated until the end is seen.
 * Null when the deadline is over first: a node may be deaf.
 */
export const stopPrompt = async (
  { api }: { readonly api: ComfyApi },
  prompt_id: string,
  deadline: AbortSignal,
): Promise<StoppedPrompt | null> => {
  const untilStopped = async (): Promise<StoppedPrompt | null> => {
    while (!deadline.aborted) {
      const found = await lookUp(api, prompt_id);
      if (found.kind === 'ended' || found.kind === 'unknown') return found;
      if (found.kind === 'running') await api.post('interrupt', { prompt_id });
      else if (found.kind !== 'unclear') await api.post('queue', { delete: [prompt_id] });
      await sleep(INTERRUPT_EVERY_MS, deadline);
    }
    return null;
  };
  return (await untilAborted(untilStopped(), deadline)) ?? null;
};

export type StoppedPrompt = Extract<LookedUp, { readonly kind: 'ended' | 'unknown' }>;

const INTERRUPT_EVERY_MS = 250;

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

export const hearPrompt = ({
  api,
  clientId,
  prompt_id,
  workflow,
  witnesses,
  observe,
}: {
  readonly api: ComfyApi;
  /** Its own for each attempt, so that nobody else is told of it, and this client of nothing else. */
  readonly clientId: string;
  readonly prompt_id: string;
  readonly workflow: ComfyWorkflow;
  readonly witnesses: Witnesses;
  readonly observe: RunObserver;
}): HeardPrompt => {
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
  const socket = openComfySocket(() => api.openSocket(clientId), hear);
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

/** The messages of a server to one client, over connections that are opened again. What is said between two of them is lost. */
interface ComfySocket extends Disposable {
  /** Resolves when the first connection is open, or cannot be opened now. */
  readonly opened: Promise<void>;
  /** Opens another connection in place of one that is silent. */
  renew(): void;
}

const OPENS_WITHIN_MS = 5_000;
const CLOSES_WITHIN_MS = 5_000;

/** `open` names the client: the server tells it about its own prompts only. */
const openComfySocket = (open: () => WebSocket, onMessage: (message: ServerMessage) => void): ComfySocket => {
  const disposed = new AbortController();
  const first = Promise.withResolvers<void>();
  let current: Connection | undefined;
  const keepOpen = async (): Promise<void> => {
    const delays = backoff({ firstMs: 200, longestMs: 5_000 });
    while (!disposed.signal.aborted) {
      current = connect(open, onMessage);
      void current.opened.then(() => delays.reset());
      await untilAborted(Promise.race([current.opened, current.closed]), disposed.signal);
      first.resolve();
      await untilAborted(current.closed, disposed.signal);
      await sleep(delays.next(), disposed.signal);
    }
    current?.close();
  };
  void keepOpen();
  return {
    opened: within(OPENS_WITHIN_MS, first.promise, () => undefined),
    renew: () => current?.close(),
    [Symbol.dispose]: () => disposed.abort(),
  };
};

interface Connection {
  readonly opened: Promise<void>;
  /**
   * It is closed, or does not close in time. Of two connections of one client the older one must be closed before the newer one
   * is opened: else the newer one falls silent.
   */
  readonly closed: Promise<void>;
  close(): void;
}

const connect = (open: () => WebSocket, onMessage: (message: ServerMessage) => void): Connection => {
  const socket = open();
  socket.binaryType = 'arraybuffer';
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  socket.addEventListener('open', () => opened.resolve());
  socket.addEventListener('error', () => closed.resolve());
  socket.addEventListener('close', () => closed.resolve());
  // It is always read: a client that does not read keeps the server from telling anybody anything.
  socket.addEventListener('message', ({ data }: MessageEvent) => {
    if (typeof data === 'string') onMessage(readServerMessage(data));
    else if (data instanceof ArrayBuffer) onMessage(readServerMessage(new Uint8Array(data)));
  });
  return {
    opened: opened.promise,
    closed: closed.promise,
    close: () => {
      socket.close();
      setTimeout(() => closed.resolve(), CLOSES_WITHIN_MS).unref();
    },
  };
};
