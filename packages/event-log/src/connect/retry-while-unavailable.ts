import { retry } from '@runledger/resilience/retry';
import { LogUnavailable } from './event-log.ts';
import type { Logger } from './logger.ts';

/**
 * Retries work while the log is unavailable. The work must be safe to do twice. When the signal aborts, the last try may or
 * may not have had its effect. @throws the signal's reason, and every other error
 */
export const retryWhileUnavailable = <Answer>(
  { signal, logger }: { readonly signal: AbortSignal; readonly logger: Logger },
  work: () => Promise<Answer>,
): Promise<Answer> =>
  retry(
    {
      isUnavailable: (error) => error instanceof LogUnavailable,
      firstMs: 250,
      longestMs: 5_000,
      signal,
      onRetry: (error) => logger.warn({ err: error }, 'the log is unavailable; trying again'),
    },
    work,
  );
