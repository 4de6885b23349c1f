import { once } from 'node:events';
import { createServer } from 'node:net';

const LOOPBACK = '127.0.0.1';

/** A free TCP port of the loopback address. Another process may take it before it is used. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, LOOPBACK);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
  return address.port;
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
