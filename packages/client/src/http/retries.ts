import type { Settings } from './settings.ts';
import { ApiError, ConnectionFailed, RateLimited, Unavailable } from '../errors.ts';

interface Repetition {
  /** Whether the work may be done twice. */
  readonly idempotent: boolean;
  /** Ends the waiting between two tries. */
  readonly signal?: AbortSignal | undefined;
}

/** Tries again where that is safe and may help. @throws as the last try, or the reason of the signal */
export const withRetries = async <Result>(
  { retries }: Pick<Settings, 'retries'>,
  { idempotent, signal }: Repetition,
  attempt: () => Promise<Result>,
): Promise<Result> => {
  for (let failures = 1; ; failures += 1) {
    try {
      return await attempt();
    } catch (error) {
      const delay = retryDelay(error, { failures, retries, idempotent, chance: Math.random() });
      if (delay === undefined) throw error;
      await pause(delay, signal);
    }
  }
};

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 8_000;
/** Who should wait for longer is told so instead. */
const LONGEST_RETRY_AFTER_S = 60;

interface Tries {
  /** How often they failed, in a row. */
  readonly failures: number;
  /** How often a request is sent again at most. */
  readonly retries: number;
  /** Whether the request may be carried out twice. */
  readonly idempotent: boolean;
  /** From 0 to 1, so that clients do not come back all at once. */
  readonly chance: number;
}

/** Milliseconds until the next try; undefined when there is none. */
export const retryDelay = (
  error: unknown,
  { failures, retries, idempotent, chance }: Tries,
): number | undefined => {
  if (failures > retries || !mayPass(error, idempotent)) return undefined;
  const longest = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1));
  const delay = longest * (0.5 + chance / 2);
  const retryAfter = error instanceof ApiError ? error.retryAfter : null;
  if (retryAfter === null) return delay;
  return retryAfter > LONGEST_RETRY_AFTER_S ? undefined : retryAfter * 1_000 + delay;
};

/** A request that is not idempotent is sent again only if nothing of it was carried out. */
const mayPass = (error: unknown, idempotent: boolean): boolean => {
  if (error instanceof RateLimited) return true;
  return idempotent && (error instanceof Unavailable || error instanceof ConnectionFailed);
};

/** Waits. @throws the reason of the signal */
export const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
