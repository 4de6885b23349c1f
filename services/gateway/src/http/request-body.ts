import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { Refused } from './refusal.ts';

const IDLE_MS = 60_000;

const accepted = new WeakSet<IncomingMessage>();

/**
 * A client that sends `Expect: 100-continue` holds its body back until this. Call it when nothing but the body itself can be refused any
 * more.
 */
export const acceptBody = ({ req, res }: Pick<Context, 'req' | 'res'>): void => {
  if (!isHeldBack(req)) return;
  accepted.add(req);
  res.writeContinue();
};

/** Whether the client waits until it may send its body. */
export const isHeldBack = (req: IncomingMessage): boolean =>
  !accepted.has(req) && /^100-continue$/i.test(req.headers.expect ?? '') && req.httpVersion === '1.1';

/** The body as it arrives. A client that sends nothing for a minute is disconnected. */
export async function* requestBody({ req, res }: Pick<Context, 'req' | 'res'>): AsyncGenerator<Uint8Array> {
  acceptBody({ req, res });
  req.setTimeout(IDLE_MS, () => req.destroy(new Error(`the client sent nothing for ${IDLE_MS / 1000} s`)));
  try {
    for await (const piece of req.iterator({ destroyOnReturn: false })) {
      yield Buffer.isBuffer(piece) ? piece : Buffer.from(String(piece));
    }
  } catch {
    throw new Refused({
      code: 'body_incomplete',
      why: 'The upload was interrupted; nothing of it was stored',
    });
  } finally {
    req.setTimeout(0);
  }
}

/** The refusal of a file whose length is not known. */
export const lengthRequired = (): Refused =>
  new Refused({ code: 'length_required', why: 'Send the Content-Length of the file' });
