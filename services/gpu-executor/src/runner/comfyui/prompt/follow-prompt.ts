import { sleep, untilAborted } from '@runledger/resilience/abort';
import type { ProcessEnd } from '../../../supervision/supervised-process.ts';
import type { PromptEnd } from '../core/history-entry.ts';
import type { ComfyLease } from '../server/comfy-server.ts';
import type { HeardPrompt } from './heard-prompt.ts';
import { lookUp, type LookedUp } from './look-up.ts';

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
  { api }: Pick<ComfyLease, 'api'>,
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
