import type { MongoClient } from 'mongodb';
import { sleep } from '@runledger/resilience/abort';

const AGAIN_AFTER_MS = 500;

/**
 * Looks for the server until it was found once. A client whose first look has failed is closed by the driver, and whatever
 * it is asked from then on fails at once ("Topology is closed"): only `connect` makes it look again. Later the driver
 * finds its server by itself. Disposing closes the client.
 */
export const keepConnecting = (client: MongoClient): AsyncDisposable => {
  const stop = new AbortController();
  const connect = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await client.connect();
        return;
      } catch {
        // Whoever asks for views is told why they are away.
        await sleep(AGAIN_AFTER_MS, stop.signal);
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
