import { sleep, unlessAborted } from './abort.ts';
import { backoff, type BackoffOptions } from './backoff.ts';

export interface RetryOptions extends BackoffOptions {
  /** Whether a retry may help. Every other error is thrown at once. */
  readonly isUnavailable: (error: unknown) => boolean;
  /** How long to try; forever when left out. */
  readonly withinMs?: number;
  /** Stops the retries at once with its reason. The last try may or may not have had its effect. */
  readonly signal?: AbortSignal;
  /** The shortest wait that the error asks for, such as a Retry-After, in milliseconds. */
  readonly leastMs?: (error: unknown) => number;
  /** Called before each wait. */
  readonly onRetry?: (error: unknown, tries: number) => void;
}

/**
 * Repeats work while something that it needs is unavailable. The work must be safe to do twice.
 * @throws the last error when the time is over; any error that is no outage; the signal's reason
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
