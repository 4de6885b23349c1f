import type { Logger } from '@runledger/event-log/connect/logger';
import type { Authenticate } from '../../auth/identify-caller.ts';
import pLimit from 'p-limit';

/** Asks again and again whether the API keys of open streams are still good. */
export interface KeyRevalidation extends Disposable {
  /** `onLost` is called once, when the key was revoked or has expired; the answer takes it off again. */
  watch(key: string, onLost: () => void): () => void;
}

export interface KeyRevalidationOptions {
  /** One that remembers nothing: revoking has to work within a second. */
  readonly authenticate: Authenticate;
  readonly logger: Logger;
}

const EVERY_MS = 750;
const AT_ONCE = 32;

export const keyRevalidation = ({ authenticate, logger }: KeyRevalidationOptions): KeyRevalidation => {
  const watched = new Map<string, Set<() => void>>();
  const inLine = pLimit(AT_ONCE);
  let timer: NodeJS.Timeout | undefined;
  let asking = false;
  let closed = false;

  const ask = async (key: string): Promise<void> => {
    try {
      if ((await authenticate(key)) !== undefined) return;
    } catch (error) {
      // The broker is away. That is no reason to take a key for revoked.
      logger.debug({ err: error }, 'an API key of an open stream could not be checked');
      return;
    }
    const lost = watched.get(key) ?? [];
    watched.delete(key);
    for (const onLost of lost) onLost();
  };
  const askAll = async (): Promise<void> => {
    timer = undefined;
    asking = true;
    await Promise.all([...watched.keys()].map((key) => inLine(() => ask(key))));
    asking = false;
    askSoon();
  };
  const askSoon = (): void => {
    if (!closed && !asking && watched.size > 0) timer ??= setTimeout(() => void askAll(), EVERY_MS);
  };
  return {
    watch: (key, onLost) => {
      const listeners = watched.get(key) ?? new Set();
      watched.set(key, listeners.add(onLost));
      askSoon();
      return () => {
        listeners.delete(onLost);
        if (listeners.size === 0 && watched.get(key) === listeners) watched.delete(key);
      };
    },
    [Symbol.dispose]: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
};
