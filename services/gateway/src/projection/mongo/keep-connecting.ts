import type { MongoClient } from 'mongodb';
import { sleep } from '@runledger/resilience/abort';

const RETRY_AFTER_MS = 500;

/**
 * Connects until the server was found once. The driver closes a client whose first connect has failed, and every later
 * call then fails at once ("Topology is closed"): only `connect` makes it search again. Later the driver finds its server
 * by itself. Disposing closes the client.
 */
export const keepConnecting = (client: MongoClient): AsyncDisposable => {
  const stop = new AbortController();
  const connect = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await client.connect();
        return;
      } catch {
        // Every call to the views says why they are away.
        await sleep(RETRY_AFTER_MS, stop.signal);
      }
    }
  };
  const connected = connect();
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await client.close(true);
      await connected;
    },
  };
};
