import { errorMessage, errorOf } from '@runledger/contracts/events/run-error';
import { untilAborted } from '@runledger/resilience/abort';
import {
  type AcquiredServer,
  type ModelServer,
  type ServerType,
  type Waiting,
  untilReady,
  type WaitingState,
} from './model-server.ts';

/** A server that runs anyway. Slots that share it execute their runs one after the other. */
export const openForeignServer = <Api>(
  type: ServerType<Api>,
  url: URL,
  startTimeoutMs: number,
): ModelServer<Api> => {
  const api = type.connect(url, null);
  let lastTurn: Promise<unknown> = Promise.resolve();
  return {
    url,
    acquire: async ({ onLoading }, signal) => {
      const before = lastTurn;
      const turn = Promise.withResolvers<null>();
      lastTurn = before.then(() => turn.promise);
      await untilAborted(before, signal);
      const release = async (): Promise<void> => turn.resolve(null);
      const acquired = await waitFor({ type, api, startTimeoutMs, onLoading, release }, signal);
      if (acquired.kind !== 'ready') await release();
      return acquired;
    },
  };
};

interface Wanted<Api> {
  readonly onLoading: Waiting['onLoading'];
  readonly type: ServerType<Api>;
  readonly api: Api;
  readonly startTimeoutMs: number;
  readonly release: () => Promise<void>;
}

const waitFor = async <Api>(
  { type, api, startTimeoutMs, onLoading, release }: Wanted<Api>,
  signal: AbortSignal,
): Promise<AcquiredServer<Api>> => {
  if (signal.aborted) return { kind: 'cancelled' };
  const since = performance.now();
  let last: WaitingState | null = null;
  let isLoading = false;
  const tooLong = AbortSignal.timeout(startTimeoutMs);
  const state = await untilReady(type, api, AbortSignal.any([signal, tooLong]), (waiting) => {
    if (last === null) onLoading();
    last = waiting;
    isLoading ||= waiting.kind === 'loading';
  });
  if (signal.aborted) return { kind: 'cancelled' };
  if (state?.kind !== 'ready') {
    const why = state?.why ?? `${whyOf(type, last)} The run waited ${startTimeoutMs / 1_000} s for it.`;
    return { kind: 'refused', error: errorOf('setup_failed', errorMessage(why)) };
  }
  const lease = {
    api,
    loadingMs: isLoading ? performance.now() - since : 0,
    ended: new Promise<never>(() => undefined),
    gone: new AbortController().signal,
    isOwn: false,
    hide: (text: string): string => text,
    release,
    discard: release,
  };
  return { kind: 'ready', lease };
};

const whyOf = ({ name }: { readonly name: string }, last: WaitingState | null): string =>
  last?.why ?? `${name} does not answer.`;
