import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { sleep } from '@runledger/resilience/abort';
import type { StreamHolder } from '../../quotas/stream-limits.ts';
import type { Subscribe, SubscriptionRefusal } from './run-subscription.ts';

interface WaitLimits {
  readonly holder: StreamHolder;
  readonly withinMs: number;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
}

const BUSY_PAUSE_MS = 1_000;

/**
 * Resolves when the run has ended, when the time is over, at once when the service stops, and after a second when too
 * many requests wait already. Read the run then.
 */
export type AwaitEnd = (key: RunKey, limits: WaitLimits) => Promise<void>;

export interface AwaitEndOptions {
  readonly subscribe: Subscribe;
  readonly refuses: (holder: StreamHolder) => SubscriptionRefusal | undefined;
}

export const awaitEnd =
  ({ subscribe, refuses }: AwaitEndOptions): AwaitEnd =>
  async (key, { holder, withinMs, signal }) => {
    if (signal.aborted) return;
    switch (refuses(holder)) {
      case undefined:
        break;
      case 'stopping':
        return;
      case 'too_many':
      case 'over_quota':
      case 'over_key_limit':
        // A client that retried at once would only add load.
        await sleep(Math.min(withinMs, BUSY_PAUSE_MS), signal);
        return;
    }
    const over = Promise.withResolvers<void>();
    const check = (): void => {
      if (subscription.facts.at(-1)?.finished === true) over.resolve();
    };
    using subscription = subscribe(key, holder, {
      onFacts: check,
      onProgress: () => undefined,
      onOver: () => over.resolve(),
    });
    check();
    const timer = setTimeout(over.resolve, withinMs);
    const onAbort = (): void => over.resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    await over.promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  };
