import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { Agent } from 'undici';

/** For `fetch` and `WebSocket` of Node. */
export type WayToServer = NonNullable<RequestInit['dispatcher']>;

/** A descriptor that only names the file, and of no link. Node has no constant for it. */
const O_PATH = 0o10000000 | constants.O_NOFOLLOW;

/**
 * Requests to a server that listens at a socket file. It is in a folder in which a program writes: what is there is used when it is a socket, and never
 * what a link leads to, such as the socket of another service. Its path may be longer than one of a socket.
 */
export const throughSocket = (path: string): WayToServer => {
  const agent = new Agent({
    connect: (_options, callback) => {
      let socket: Socket;
      let named: number | null = null;
      try {
        named = openSync(path, O_PATH);
        if (!fstatSync(named).isSocket()) throw new Error('what it should listen at is no socket');
        socket = connect(`/proc/self/fd/${named}`);
      } catch (error) {
        if (named !== null) closeSync(named);
        callback(error instanceof Error ? error : new Error(String(error)), null);
        return;
      }
      const descriptor = named;
      const settle = (error: Error | null): void => {
        closeSync(descriptor);
        if (error === null) callback(null, socket);
        else callback(error, null);
      };
      const failed = (error: Error): void => settle(error);
      socket.once('error', failed);
      socket.once('connect', () => {
        socket.off('error', failed);
        settle(null);
      });
    },
  });
  // Node's own types are of a release beside this one.
  return agent as unknown as WayToServer;
};
