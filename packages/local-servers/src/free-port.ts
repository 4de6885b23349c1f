import { once } from 'node:events';
import { createServer } from 'node:net';

/** A TCP port on the loopback address that nobody listens on now; another process may take it before its use. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
  return address.port;
};

/** Whether a server could listen here now. */
export const isPortFree = async (port: number, host = '127.0.0.1'): Promise<boolean> => {
  const server = createServer();
  try {
    const listening = once(server, 'listening');
    server.listen(port, host);
    await listening;
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
};
