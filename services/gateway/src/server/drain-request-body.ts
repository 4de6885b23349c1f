import type { IncomingMessage, ServerResponse } from 'node:http';

const MOST_BYTES = 16 * 1024 * 1024;
const DRAIN_TIMEOUT_MS = 5_000;

/**
 * Some clients still send their body when the response is ready. They read the response only if the server reads on for a
 * while: closing the connection at once would lose it. The body is dropped, up to a number of bytes and seconds.
 */
export const drainRequestBody = (req: IncomingMessage, res: ServerResponse): void => {
  if (req.complete) return;
  res.once('prefinish', () => {
    if (req.complete) return;
    let dropped = 0;
    const giveUp = (): void => void req.socket.destroy();
    const timer = setTimeout(giveUp, DRAIN_TIMEOUT_MS).unref();
    const settled = (): void => clearTimeout(timer);
    // Before the response has finished: Node then drops a body that nobody reads, without limit.
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
