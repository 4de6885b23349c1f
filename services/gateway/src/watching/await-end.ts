import type { RunKey } from '@runledger/contracts/subjects';
import type { RunWatching } from './run-watching.ts';

interface Patience {
  readonly withinMs: number;
  /** The client has gone away. */
  readonly signal: AbortSignal;
}

/**
 * Resolves when the run has ended, when the patience is over, and at once when nobody can wait: the service stops, or
 * too many wait already. Ask then what the run is.
 */
export type AwaitEnd = (key: RunKey, patience: Patience) => Promise<void>;

export const awaitEnd =
  ({ watch, refuses }: Pick<RunWatching, 'watch' | 'refuses'>): AwaitEnd =>
  async (key, { withinMs, signal }) => {
    if (signal.aborted || refuses() !== undefined) return;
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
