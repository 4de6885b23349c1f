import type { IncomingMessage } from 'node:http';
import { Refused } from './refusal.ts';

const IDLE_MS = 60_000;

/** The body as it arrives. A client that sends nothing for a minute is disconnected. */
export async function* requestBody(req: IncomingMessage): AsyncGenerator<Uint8Array> {
  req.setTimeout(IDLE_MS, () => req.destroy(new Error(`the client sent nothing for ${IDLE_MS / 1000} s`)));
  try {
    for await (const piece of req.iterator({ destroyOnReturn: false })) {
      yield Buffer.isBuffer(piece) ? piece : Buffer.from(String(piece));
    }
  } catch {
    throw new Refused({ kind: 'bad_request', why: 'The upload was interrupted; nothing of it was stored' });
  } finally {
    req.setTimeout(0);
  }
}
