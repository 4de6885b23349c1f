import { setTimeout as pause } from 'node:timers/promises';
import { unlessAborted } from './abort-signal.ts';
import { LogUnavailable } from './event-log.ts';
import type { Logger } from './logger.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Does again what may be done again, for as long as the log is away. When the signal is aborted, what is being done is no
 * longer waited for: it may have been done or not. @throws the signal's reason, and every other error
 */
export const retryWhileUnavailable = async <Answer>(
  { signal, logger }: { readonly signal: AbortSignal; readonly logger: Logger },
  act: () => Promise<Answer>,
): Promise<Answer> => {
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    signal.throwIfAborted();
    try {
      return await unlessAborted(act(), signal);
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error;
      logger.warn({ err: error }, 'the log is away; trying again');
      await pause(wait, undefined, { signal });
    }
  }
};
