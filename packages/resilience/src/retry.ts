import { sleep, unlessAborted } from './abort.ts';
import { backoff, type BackoffOptions } from './backoff.ts';

export interface RetryOptions extends BackoffOptions {
  /** Whether trying again may help. Every other error is thrown at once. */
  readonly isUnavailable: (error: unknown) => boolean;
  /** How long to try; for ever when left out. */
  readonly withinMs?: number;
  /** Ends the trying at once with its reason. The last try may or may not have been done. */
  readonly signal?: AbortSignal;
  /** What the error itself asks for, such as a Retry-After, in milliseconds. */
  readonly leastMs?: (error: unknown) => number;
  /** Called before each wait. */
  readonly onRetry?: (error: unknown, tries: number) => void;
}

/**
 * Does what may be done twice again and again for as long as something that it needs is away.
 * @throws the last error when the time is over, every error that is no outage, and the signal's reason
 */
export const retry = async <Value>(
  { isUnavailable, withinMs = Infinity, signal, leastMs = () => 0, onRetry, ...growth }: RetryOptions,
  work: (tries: number) => Promise<Value>,
): Promise<Value> => {
  const deadline = performance.now() + withinMs;
  const delays = backoff(growth);
  for (let tries = 1; ; tries += 1) {
    signal?.throwIfAborted();
    try {
      return await (signal ? unlessAborted(work(tries), signal) : work(tries));
    } catch (error) {
      if (signal?.aborted === true || !isUnavailable(error)) throw error;
      const ms = Math.max(delays.next(), leastMs(error));
      if (performance.now() + ms >= deadline) throw error;
      onRetry?.(error, tries);
      await sleep(ms, signal);
    }
  }
};
