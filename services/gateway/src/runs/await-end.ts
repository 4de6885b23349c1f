import type { RunKey } from '@runledger/contracts/events/subjects';
import { sleep } from '@runledger/resilience/abort';
import type { Context } from 'koa';
import { streamHolder, type StreamHolder } from '../records/quotas/quotas.ts';
import type { Subscribe, SubscriptionRefusal } from './live-run.ts';
import { notAuthenticated } from '../door/caller.ts';
import type { Caller } from '../door/operation.ts';
import pLimit from 'p-limit';
import type { Kit } from '../kit.ts';

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

/** Checks periodically whether the API keys of open requests are still valid, and ends those of tokens when they expire. */
export interface KeyRevalidation extends Disposable {
  /** Calls `onInvalid` once, when the key was revoked or has expired, or the token has, until the function that it returns is called. */
  revalidate(caller: Caller, onInvalid: () => void): () => void;
}

const CHECK_EVERY_MS = 750;
const MAX_CONCURRENT_CHECKS = 32;

interface Watched {
  readonly caller: Caller;
  readonly listeners: Set<() => void>;
}

/** A key is checked once for all its requests, and for those of all tokens that it made. */
export const openKeyRevalidation = (
  { now, logger }: Kit,
  /** Without a cache: a revoked key, or a session that has ended, is refused within a second. */
  isValid: (caller: Caller) => Promise<boolean>,
): KeyRevalidation => {
  const watchedKeys = new Map<string, Watched>();
  const limit = pLimit(MAX_CONCURRENT_CHECKS);
  let timer: NodeJS.Timeout | undefined;
  let isChecking = false;
  let isClosed = false;

  const check = async ({ caller, listeners }: Watched): Promise<void> => {
    try {
      if (await isValid(caller)) return;
    } catch (error) {
      // The broker is unavailable. That does not make a key invalid.
      logger.debug({ err: error }, 'the API key of an open stream could not be checked');
      return;
    }
    watchedKeys.delete(caller.key.sha256);
    for (const onInvalid of listeners) onInvalid();
  };
  const checkAll = async (): Promise<void> => {
    timer = undefined;
    isChecking = true;
    await limit.map(watchedKeys.values(), check);
    isChecking = false;
    checkSoon();
  };
  const checkSoon = (): void => {
    if (isClosed || isChecking || watchedKeys.size === 0) return;
    timer ??= setTimeout(() => void checkAll(), CHECK_EVERY_MS);
  };
  return {
    revalidate: (caller, onInvalid) => {
      const { key, token } = caller;
      const watched = watchedKeys.get(key.sha256) ?? { caller, listeners: new Set() };
      // Two requests may give the same function.
      const listener = (): void => onInvalid();
      watchedKeys.set(key.sha256, watched);
      watched.listeners.add(listener);
      checkSoon();
      const release = (): void => {
        clearTimeout(expiry);
        watched.listeners.delete(listener);
        if (watched.listeners.size === 0 && watchedKeys.get(key.sha256) === watched)
          watchedKeys.delete(key.sha256);
      };
      const expire = (): void => {
        release();
        onInvalid();
      };
      const expiry = token && setTimeout(expire, Math.max(token.expires_at - now().getTime(), 0));
      return release;
    },
    [Symbol.dispose]: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
};
