import type { IncomingMessage, ServerResponse } from 'node:http';
import { isHeldBack } from '../http/request-body.ts';

const MAX_BYTES = 16 * 1024 * 1024;
const DRAIN_TIMEOUT_MS = 5_000;

/**
 * A client may still send its body when the response is ready. It reads the response only if the server continues to read
 * for a while: closing the connection at once would lose it. The rest of the body is dropped, up to a number of bytes and
 * seconds.
 */
export const drainRequestBody = (req: IncomingMessage, res: ServerResponse): void => {
  if (req.complete) return;
  if (isHeldBack(req)) {
    // The client learns from the response that its body is not wanted, and sends nothing.
    if (!res.headersSent) res.setHeader('Connection', 'close');
    return;
  }
  res.once('prefinish', () => {
    if (req.complete) return;
    let dropped = 0;
    const giveUp = (): void => void req.socket.destroy();
    const timer = setTimeout(giveUp, DRAIN_TIMEOUT_MS).unref();
    const settled = (): void => clearTimeout(timer);
    // Before the response has finished: after it, Node drops an unread body without limit.
    req.on('data', (piece: Buffer) => {
      dropped += piece.byteLength;
      if (dropped > MAX_BYTES) giveUp();
    });
    req.once('end', settled);
    req.once('close', settled);
    req.once('error', settled);
    req.resume();
  });
};
