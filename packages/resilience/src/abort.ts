import { setTimeout as delay } from 'node:timers/promises';
import pTimeout from 'p-timeout';

/** Resolves when the signal is aborted. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Resolves after this many milliseconds, or when the signal is aborted. Never rejects. */
export const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
  await delay(ms, undefined, signal ? { signal } : {}).catch(() => undefined);
};

/** The result of the work, or undefined when the signal aborts first; the work may continue. */
export const untilAborted = async <Value>(
  work: PromiseLike<Value>,
  signal: AbortSignal,
): Promise<Value | undefined> => {
  try {
    return await unlessAborted(work, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
};

/** The result of the work. Rejects with the signal's reason at once when the signal aborts first; the work may continue. */
export const unlessAborted = <Value>(work: PromiseLike<Value>, signal: AbortSignal): Promise<Value> =>
  pTimeout(work, { milliseconds: Number.POSITIVE_INFINITY, signal });
