import { sleep, untilAborted } from '@runledger/resilience/abort';
import type { ServerState, ServerType } from './model-server.ts';

const ASK_EVERY_MS = 250;

/** Asks a server until it is ready or never will be; undefined when the signal is aborted first. `onWait` is called before it is asked again. */
export const untilReady = async <Api>(
  { probe }: ServerType<Api>,
  api: Api,
  signal: AbortSignal,
  onWait: (state: WaitingState) => void = () => undefined,
): Promise<Exclude<ServerState, WaitingState> | undefined> => {
  while (!signal.aborted) {
    const state = await untilAborted(probe(api), signal);
    if (state === undefined) break;
    if (state.kind === 'ready' || state.kind === 'never') return state;
    onWait(state);
    await sleep(ASK_EVERY_MS, signal);
  }
  return undefined;
};

export type WaitingState = Extract<ServerState, { readonly kind: 'busy' | 'loading' }>;
