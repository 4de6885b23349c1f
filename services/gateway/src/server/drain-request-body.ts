import type { IncomingMessage, ServerResponse } from 'node:http';

const MOST_BYTES = 16 * 1024 * 1024;
const DRAIN_TIMEOUT_MS = 5_000;

/**
 * A client that is answered while it still sends reads the answer only if what it sends is taken in for a while: a
 * connection closed at once would throw the answer away. What comes is dropped, and too much or too long ends it.
 */
export const drainRequestBody = (req: IncomingMessage, res: ServerResponse): void => {
  if (req.complete) return;
  res.once('finish', () => {
    if (req.complete) return;
    let dropped = 0;
    const giveUp = (): void => void req.socket.destroy();
    const timer = setTimeout(giveUp, DRAIN_TIMEOUT_MS).unref();
    const settled = (): void => clearTimeout(timer);
    req.on('data', (piece: Buffer) => {
      dropped += piece.byteLength;
      if (dropped > MOST_BYTES) giveUp();
    });
    req.once('end', settled);
    req.once('close', settled);
    req.once('error', settled);
    req.resume();
  });
};
