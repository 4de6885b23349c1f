import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** The server's end of a websocket: as much of RFC 6455 as a test needs. */
export interface ServerSocket {
  readonly send: (message: string | Uint8Array) => void;
  /** Without a close frame, as when the process is killed. */
  readonly destroy: () => void;
  readonly closed: Promise<void>;
}

const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const LAST_FRAME = 0x80;
/** Messages are cut into frames of this size, so that a client must put them together. */
const FRAME_BYTES = 64 * 1024;

export const acceptWebsocket = ({ headers }: IncomingMessage, socket: Duplex): ServerSocket => {
  const key = headers['sec-websocket-key'] ?? '';
  const accept = createHash('sha1')
    .update(key + MAGIC)
    .digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.on('close', resolve);
  socket.on('error', () => resolve());
  // A client of this test sends nothing but its close frame: the first four bits after the reserved ones are its kind.
  socket.on('data', (bytes: Buffer) => {
    if (((bytes[0] ?? 0) & 0x0f) === CLOSE) socket.end(frame(CLOSE, Buffer.alloc(0), true));
  });
  return {
    send: (message) => {
      const kind = typeof message === 'string' ? TEXT : BINARY;
      const bytes = Buffer.from(message as Uint8Array);
      for (let from = 0; from === 0 || from < bytes.length; from += FRAME_BYTES) {
        const isLast = from + FRAME_BYTES >= bytes.length;
        const part = bytes.subarray(from, from + FRAME_BYTES);
        if (!socket.destroyed) socket.write(frame(from === 0 ? kind : 0, part, isLast));
      }
    },
    destroy: () => socket.destroy(),
    closed,
  };
};

const frame = (kind: number, bytes: Buffer, isLast: boolean): Buffer => {
  const first = (isLast ? LAST_FRAME : 0) | kind;
  if (bytes.length < 126) return Buffer.concat([Buffer.from([first, bytes.length]), bytes]);
  const head = Buffer.alloc(bytes.length < 65_536 ? 4 : 10);
  head[0] = first;
  head[1] = bytes.length < 65_536 ? 126 : 127;
  if (bytes.length < 65_536) head.writeUInt16BE(bytes.length, 2);
  else head.writeBigUInt64BE(BigInt(bytes.length), 2);
  return Buffer.concat([head, bytes]);
};
