import { createServer, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { WebhookPayload } from '@runledger/contracts/deliveries/webhook-payload';
import { Compile } from 'typebox/compile';
import type { Clock } from '../cluster/clock.ts';
import type { Received } from './client-records.ts';

const Payload = Compile(WebhookPayload);

export interface Receiver extends AsyncDisposable {
  /** Requests to `<url>/<request number>`. */
  readonly url: string;
  readonly received: readonly Received[];
}

const MOST_BYTES = 1024 * 1024;

/**
 * How a receiver treats the final notification of a run: told from the number of the request, so that a seed repeats it,
 * and so that few fail one after the other, which would have the receiver left alone for long.
 */
const temperOf = (request: number): 'broken' | 'gone' | 'cuts' | 'slow' | 'good' => {
  const kind = (request * 7_919) % 100;
  if (kind < 8) return 'broken';
  if (kind < 11) return 'gone';
  if (kind < 14) return 'cuts';
  return kind < 24 ? 'slow' : 'good';
};

/** A receiver on a real socket, which fails at times: the first try of some, all of a few. */
export const startReceiver = async (now: Clock): Promise<Receiver> => {
  const received: Received[] = [];
  const tried = new Set<string>();

  /** What to answer, or null to break the connection. */
  const answerTo = (request: number, { run_id, finished }: WebhookPayload): number | null => {
    const isFirst = finished && !tried.has(run_id);
    if (finished) tried.add(run_id);
    switch (temperOf(request)) {
      case 'broken':
        return isFirst ? 500 : 200;
      case 'gone':
        return finished ? 410 : 200;
      case 'cuts':
        return isFirst ? null : 200;
      case 'slow':
      case 'good':
        return 200;
    }
  };

  const server = createServer((request, response) => {
    const take = async (): Promise<void> => {
      const payload = await payloadOf(request);
      const at = now();
      const number = Number(request.url?.split('/').at(-1));
      const answered = answerTo(number, payload);
      received.push({ at, webhookId: String(request.headers['webhook-id']), payload, answered });
      if (temperOf(number) === 'slow') await pause(400);
      if (answered === null) request.socket.destroy();
      else response.writeHead(answered).end();
    };
    // A sender that is killed in the middle of its request has told nothing.
    take().catch(() => request.socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
  return {
    url: `http://127.0.0.1:${address.port}/hook`,
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const payloadOf = async (request: IncomingMessage): Promise<WebhookPayload> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error('a notification is larger than any can be');
    chunks.push(chunk);
  }
  const payload: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  if (!Payload.Check(payload)) throw new Error('this is no notification');
  return payload;
};
