import { setTimeout as pause } from 'node:timers/promises';
import type { Organisation } from '../cluster/organisation.ts';

export interface CancelAllOptions {
  readonly organisation: Pick<Organisation, 'api_key'>;
  readonly gateways: readonly string[];
  /** Whether the log has a run of it that has not ended. */
  readonly hasOpenRuns: () => boolean;
}

const WITHIN_MS = 60_000;
const MAX_TRIES = 100;
const AGAIN_AFTER_MS = 2_000;

/** Again and again: a gateway whose views are derived again cancels those that they have already. */
export const cancelAllRuns = async ({
  organisation,
  gateways,
  hasOpenRuns,
}: CancelAllOptions): Promise<void> => {
  for (let tries = 0; tries < MAX_TRIES && hasOpenRuns(); tries += 1) {
    const gateway = gateways[tries % gateways.length] ?? '';
    try {
      const response = await fetch(`${gateway}/runs/cancel`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${organisation.api_key}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ filter: {} }),
        signal: AbortSignal.timeout(WITHIN_MS),
      });
      await response.text();
    } catch {
      // The gateway is away.
    }
    await pause(AGAIN_AFTER_MS);
  }
};
