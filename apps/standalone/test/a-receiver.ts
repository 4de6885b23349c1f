import { createServer, type IncomingMessage } from 'node:http';
import { WebhookPayload } from '@runledger/contracts/webhook-payload';
import { Webhook } from 'standardwebhooks';
import { Value } from 'typebox/value';

/** A notification as it arrived. */
export interface Arrived {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly payload: WebhookPayload;
  /** In milliseconds since the epoch. */
  readonly at: number;
}

/** The status to answer with, at once or later. */
type Answer = (arrived: Arrived) => number | Promise<number>;

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** In the order in which they arrived. */
  readonly arrived: readonly Arrived[];
  readonly of: (run: string) => readonly Arrived[];
  /** Of those that tell how a run ended. More than one are the same message. */
  readonly finalsOf: (run: string) => readonly Arrived[];
  answer: Answer;
}

/** A server on a real socket of this machine. */
export const aReceiver = async (answer: Answer = () => 200, port = 0): Promise<Receiver> => {
  const arrived: Arrived[] = [];
  const receiver = { answer };
  const server = createServer((request, response) => {
    void take(request).then(async (taken) => {
      arrived.push(taken);
      response.writeHead(await receiver.answer(taken)).end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
  const of = (run: string): Arrived[] => arrived.filter(({ payload }) => payload.run_id === run);
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${address.port}/hook`,
    arrived,
    of,
    finalsOf: (run: string) => of(run).filter(({ payload }) => payload.finished),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  });
};

const take = async (request: IncomingMessage): Promise<Arrived> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString('utf8');
  const payload: unknown = JSON.parse(body);
  if (!Value.Check(WebhookPayload, payload)) throw new Error(`this is no payload: ${body}`);
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
  );
  return { headers, body, payload, at: Date.now() };
};

/** Whether a receiver that knows this secret takes it, by the library that receivers use. */
export const isSignedWith = (secret: string, { body, headers }: Arrived): boolean => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
};
