import { pause } from './pause.ts';
import { retryDelay } from './retry-delay.ts';
import type { Settings } from './settings.ts';

export interface Repetition {
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
