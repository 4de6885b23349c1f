import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { sleep } from '@runledger/resilience/abort';
import type { RunSubscriptions } from './run-subscriptions.ts';

interface Patience {
  readonly withinMs: number;
  /** The client has gone away. */
  readonly signal: AbortSignal;
}

const BUSY_PAUSE_MS = 1_000;

/**
 * Resolves when the run has ended, when the patience is over, at once when the service stops, and soon when too many wait
 * already. Ask then what the run is.
 */
export type AwaitEnd = (key: RunKey, patience: Patience) => Promise<void>;

export const awaitEnd =
  ({ subscribe: watch, refuses }: Pick<RunSubscriptions, 'subscribe' | 'refuses'>): AwaitEnd =>
  async (key, { withinMs, signal }) => {
    if (signal.aborted) return;
    switch (refuses()) {
      case undefined:
        break;
      case 'stopping':
        return;
      case 'too_many':
        // Whoever asks again at once would only make it worse.
        await sleep(Math.min(withinMs, BUSY_PAUSE_MS), signal);
        return;
    }
    const over = Promise.withResolvers<void>();
    const look = (): void => {
      if (watched.facts.at(-1)?.finished === true) over.resolve();
    };
    using watched = watch(key, { onFacts: look, onProgress: () => undefined, onOver: () => over.resolve() });
    look();
    const late = setTimeout(over.resolve, withinMs);
    const gone = (): void => over.resolve();
    signal.addEventListener('abort', gone, { once: true });
    await over.promise;
    clearTimeout(late);
    signal.removeEventListener('abort', gone);
  };
