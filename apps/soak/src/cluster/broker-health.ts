import { setTimeout as pause } from 'node:timers/promises';

/** After every broker was away: elections, and all that one of them missed, on a busy machine. */
const HEALTHY_WITHIN_MS = 120_000;
const POLL_EVERY_MS = 200;
const RESPONSE_WITHIN_MS = 5_000;

/** Until the broker says that it has every stream and consumer as the others have them, or until it has ended. */
export const untilHealthy = async (monitorPort: number, ended: Promise<unknown>): Promise<void> => {
  const over = new AbortController();
  void ended.then(() => over.abort());
  const deadline = performance.now() + HEALTHY_WITHIN_MS;
  while (!over.signal.aborted) {
    const why = await whyUnhealthy(monitorPort);
    if (why === undefined) return;
    if (performance.now() > deadline)
      throw new Error(`after ${HEALTHY_WITHIN_MS / 1_000} s its /healthz still answers: ${why}`);
    await pause(POLL_EVERY_MS);
  }
};

/** Undefined if it is healthy. */
export const whyUnhealthy = async (monitorPort: number): Promise<string | undefined> => {
  try {
    const response = await fetch(`http://127.0.0.1:${monitorPort}/healthz`, {
      signal: AbortSignal.timeout(RESPONSE_WITHIN_MS),
    });
    const text = await response.text();
    return response.ok ? undefined : text.trim();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};
