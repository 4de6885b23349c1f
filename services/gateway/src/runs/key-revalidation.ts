import pLimit from 'p-limit';
import type { Caller } from '../door/operation.ts';
import type { Kit } from '../kit.ts';

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
