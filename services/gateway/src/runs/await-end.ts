import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { sleep } from '@runledger/resilience/abort';
import type { Context } from 'koa';
import { streamHolder, type StreamHolder } from '../records/quotas/stream-limits.ts';
import type { Subscribe, SubscriptionRefusal } from './live-run.ts';
import { notAuthenticated } from '../door/caller.ts';
import type { Caller } from '../door/operation.ts';
import type { KeyRevalidation } from './key-revalidation.ts';

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

export const awaitEnd =
  (subscribe: Subscribe, refuses: (holder: StreamHolder) => SubscriptionRefusal | undefined): AwaitEnd =>
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

/** Holds a request until a run has ended, or until the time is over. Refuses it when its credential becomes invalid meanwhile. */
export type WaitForEnd = (key: RunKey, caller: Caller, ctx: Context, withinMs: number) => Promise<void>;

export const waitForEnd =
  (awaitEnd: AwaitEnd, keys: KeyRevalidation): WaitForEnd =>
  async (key, caller, { res }, withinMs) => {
    // The client has disconnected already, so `close` will not come.
    if (res.destroyed) return;
    const over = new AbortController();
    const onClose = (): void => over.abort();
    res.once('close', onClose);
    let isInvalid = false;
    const release = keys.revalidate(caller, () => {
      isInvalid = true;
      over.abort();
    });
    try {
      await awaitEnd(key, { holder: streamHolder(caller), withinMs, signal: over.signal });
    } finally {
      release();
      res.off('close', onClose);
    }
    if (isInvalid) throw notAuthenticated();
  };
