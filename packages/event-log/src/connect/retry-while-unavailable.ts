import { retry } from '@runledger/resilience/retry';
import { LogUnavailable } from './event-log.ts';
import type { Logger } from './logger.ts';

/**
 * Does what may be done twice again and again for as long as the log is away. When the signal is aborted, the last try may or
 * may not have been done. @throws the signal's reason, and every other error
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
      onRetry: (error) => logger.warn({ err: error }, 'the log is away; trying again'),
    },
    work,
  );
