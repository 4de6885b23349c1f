import { once } from 'node:events';
import { createServer } from 'node:net';

/** What a process that was started with an IPC channel has of it. */
interface Channel {
  readonly send?: NodeJS.Process['send'];
}

/**
 * Listens on the loopback of this process, and gives the listener away to the process that started this one, which accepts what connects to it: a socket
 * stays in the network namespace in which it was made. Resolves with its port.
 */
export const handOverListener = async (channel: Channel): Promise<number> => {
  const listener = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('The listener has no port.');
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  channel.send?.('listener', listener, {}, (error) => (error === null ? resolve(undefined) : reject(error)));
  await promise;
  listener.close();
  return address.port;
};

const LOOPBACK = 'localhost,127.0.0.1,::1,[::1]';

/** How programs find the proxy on their loopback. Most libraries read one spelling or the other; Node wants to be told that it may. */
export const proxyEnvironment = (port: number): Record<string, string> => {
  const proxy = `http://127.0.0.1:${port}`;
  const names = { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: LOOPBACK };
  const lowerCase = Object.entries(names).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...names, ...Object.fromEntries(lowerCase), NODE_USE_ENV_PROXY: '1' };
};
