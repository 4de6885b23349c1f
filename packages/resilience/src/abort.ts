import { setTimeout as delay } from 'node:timers/promises';
import pTimeout from 'p-timeout';
import { within } from './within.ts';

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

const STOP_WITHIN_MS = 2_000;

/**
 * Work that goes on until it is disposed of. That waits no longer than so many milliseconds for its end: while a server is unavailable, it may
 * take too long, and comes with the end of the connection.
 */
export const inBackground = (
  work: (stop: AbortSignal) => Promise<void>,
  stopWithinMs = STOP_WITHIN_MS,
): AsyncDisposable => {
  const stop = new AbortController();
  const working = work(stop.signal);
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await within(stopWithinMs, working, () => undefined);
    },
  };
};
