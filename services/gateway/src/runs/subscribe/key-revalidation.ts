import type { Logger } from '@runledger/event-log/connect/logger';
import pLimit from 'p-limit';
import type { Authenticate } from '../../auth/identify-caller.ts';

/** Checks periodically whether the API keys of open requests are still valid. */
export interface KeyRevalidation extends Disposable {
  /** Calls `onInvalid` once, when the key was revoked or has expired, until the function that it returns is called. */
  revalidate(key: string, onInvalid: () => void): () => void;
}

export interface KeyRevalidationOptions {
  /** Without a cache: a revoked key is refused within a second. */
  readonly authenticate: Authenticate;
  readonly logger: Logger;
}

const CHECK_EVERY_MS = 750;
const MAX_CONCURRENT_CHECKS = 32;

export const openKeyRevalidation = ({ authenticate, logger }: KeyRevalidationOptions): KeyRevalidation => {
  const listenersOf = new Map<string, Set<() => void>>();
  const limit = pLimit(MAX_CONCURRENT_CHECKS);
  let timer: NodeJS.Timeout | undefined;
  let isChecking = false;
  let isClosed = false;

  const check = async (key: string): Promise<void> => {
    try {
      if ((await authenticate(key)) !== undefined) return;
    } catch (error) {
      // The broker is unavailable. That does not make a key invalid.
      logger.debug({ err: error }, 'the API key of an open stream could not be checked');
      return;
    }
    const listeners = listenersOf.get(key) ?? [];
    listenersOf.delete(key);
    for (const onInvalid of listeners) onInvalid();
  };
  const checkAll = async (): Promise<void> => {
    timer = undefined;
    isChecking = true;
    await limit.map(listenersOf.keys(), check);
    isChecking = false;
    checkSoon();
  };
  const checkSoon = (): void => {
    if (isClosed || isChecking || listenersOf.size === 0) return;
    timer ??= setTimeout(() => void checkAll(), CHECK_EVERY_MS);
  };
  return {
    revalidate: (key, onInvalid) => {
      const listeners = listenersOf.get(key) ?? new Set();
      listenersOf.set(key, listeners.add(onInvalid));
      checkSoon();
      return () => {
        listeners.delete(onInvalid);
        if (listeners.size === 0 && listenersOf.get(key) === listeners) listenersOf.delete(key);
      };
    },
    [Symbol.dispose]: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
};
