import type { MongoClient } from 'mongodb';
import { retry } from '@runledger/resilience/retry';

const DELAY_MS = { firstMs: 250, longestMs: 500 } as const;

/**
 * Connects until the server was found once. The driver closes a client whose first connect has failed, and every later
 * call then fails at once ("Topology is closed"): only `connect` makes it search again. Later the driver finds its server
 * by itself. Disposing closes the client.
 */
export const keepConnecting = (client: MongoClient): AsyncDisposable => {
  const stop = new AbortController();
  // Every call to the views reports why they are unavailable, so the errors are not needed here.
  const options = { ...DELAY_MS, isUnavailable: () => true, signal: stop.signal };
  const connected = retry(options, () => client.connect()).catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await client.close(true);
      await connected;
    },
  };
};
