import { retry } from '@runledger/resilience/retry';
import { Unavailable } from './api-problem.ts';
import type { Screen } from '../output/screen.ts';

const WITHIN_MS = 60_000;
const AGAIN_AFTER_MS = 1_000;

/**
 * Repeats a call while the service is unavailable, for a minute in all. A call that changes something sends the same
 * idempotency key each time.
 */
export const retryForAMinute = <Result>(call: () => Promise<Result>, screen: Screen): Promise<Result> =>
  retry(
    {
      isUnavailable: (error) => error instanceof Unavailable,
      leastMs: (error) => (error instanceof Unavailable ? (error.retryAfterMs ?? 0) : 0),
      withinMs: WITHIN_MS,
      firstMs: AGAIN_AFTER_MS,
      longestMs: AGAIN_AFTER_MS,
      onRetry: (error, tries) => {
        if (tries === 1 && error instanceof Error) {
          screen.hint(`${error.message}\nRetrying for up to ${WITHIN_MS / 1_000} s.`);
        }
      },
    },
    call,
  );
