import { once } from 'node:events';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const LOOPBACK = '127.0.0.1';

// Below the ports that Linux gives to outgoing connections and to servers that ask for any port (from 32768 on, by default).
// One of those could be taken by any connection of the machine before the server listens, or while it restarts.
const FIRST_PORT = 10_000;
const LAST_PORT = 32_767;
const MAX_TRIES = 1_000;

/**
 * Different free TCP ports of the loopback address, chosen at random. Another server may take one before it is used.
 * @throws Error, if there are not so many
 */
export const freePorts = async (count: number, except: readonly number[] = []): Promise<number[]> => {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries === MAX_TRIES)
      throw new Error(`There are no ${count} free ports from ${FIRST_PORT} to ${LAST_PORT} of ${LOOPBACK}.`);
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (!except.includes(port) && (await isPortFree(port))) ports.add(port);
  }
  return [...ports];
};

/** One of them. */
export const freePort = async (): Promise<number> => {
  const [port] = await freePorts(1);
  if (port === undefined) throw new Error('No port was chosen.');
  return port;
};

/** Whether a server can listen on this port of the loopback address now. */
export const isPortFree = async (port: number): Promise<boolean> => {
  const server = createServer();
  try {
    const listening = once(server, 'listening');
    server.listen(port, LOOPBACK);
    await listening;
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
};
