import { setTimeout as pause } from 'node:timers/promises';
import { Unavailable } from './api-call.ts';
import type { Screen } from '../output/screen.ts';

const PATIENCE_MS = 60_000;
const ASK_AGAIN_AFTER_MS = 1_000;

/**
 * Asks again while the service is away or asks for patience, for a minute in all. Whoever asks for more than to read
 * sends the same idempotency key each time.
 */
export const retryWhileUnavailable = async <Result>(
  ask: () => Promise<Result>,
  screen: Screen,
): Promise<Result> => {
  const deadline = performance.now() + PATIENCE_MS;
  for (let told = false; ; told = true) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      const waitMs = Math.max(error.retryAfterMs ?? 0, ASK_AGAIN_AFTER_MS);
      if (performance.now() + waitMs > deadline) throw error;
      if (!told) screen.hint(`${error.message}\nAsking again for up to ${PATIENCE_MS / 1_000} s.`);
      await pause(waitMs);
    }
  }
};
