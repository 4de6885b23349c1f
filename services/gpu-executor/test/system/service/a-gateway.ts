import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { verifyAttempt } from '@runledger/contracts/access/attempt-token';
import type { StoredFile } from '@runledger/contracts/events/run-event-data';
import { isOrgId, isRunId } from '@runledger/contracts/ids';

/** The upload endpoint of a gateway, which takes the files of whoever holds `publicKey`. */
export interface AGateway extends AsyncDisposable {
  readonly url: string;
  publicKey: string;
  /** What it has taken, by filename. */
  readonly taken: Map<string, Buffer>;
  /** Answers to give, one each, before it behaves again: a status, or a connection that breaks. */
  troubles: (number | 'broken')[];
  readonly tries: number;
}

export const startGateway = async (): Promise<AGateway> => {
  const gateway = {
    url: '',
    publicKey: '',
    taken: new Map<string, Buffer>(),
    troubles: [] as (number | 'broken')[],
    tries: 0,
  };

  const answer = async (request: IncomingMessage): Promise<{ status: number; body: object } | 'broken'> => {
    gateway.tries += 1;
    const trouble = gateway.troubles.shift();
    if (trouble === 'broken') return 'broken';
    if (trouble !== undefined) return { status: trouble, body: { detail: `trouble ${trouble}` } };
    const url = new URL(request.url ?? '/', gateway.url);
    const [, executions, org, run, attempt] = url.pathname.split('/');
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    if (executions !== 'executions' || !org || !run || !isOrgId(org) || !isRunId(run))
      return { status: 404, body: { detail: 'no such page' } };
    if (!(await verifyAttempt(gateway.publicKey, token, { org_id: org, run_id: run }, Number(attempt))))
      return { status: 401, body: { detail: 'not the token of this attempt' } };
    const bytes = await readAll(request);
    const filename = url.searchParams.get('filename') ?? '';
    if (bytes.length !== Number(request.headers['content-length']))
      return { status: 400, body: { detail: 'cut' } };
    gateway.taken.set(filename, bytes);
    const stored: StoredFile = {
      key: randomBytes(32).toString('base64url'),
      filename,
      subfolder: url.searchParams.get('subfolder') ?? '',
      content_type: request.headers['content-type'] ?? '',
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      type: 'output',
      upload_duration: 0.01,
    };
    return { status: 201, body: stored };
  };

  const server = createServer((request, response) => {
    void answer(request).then((given) => {
      if (given === 'broken') {
        request.socket.destroy();
        return;
      }
      const text = JSON.stringify(given.body);
      response.writeHead(given.status, { 'content-type': 'application/json', connection: 'close' }).end(text);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the gateway has no port');
  gateway.url = `http://127.0.0.1:${address.port}`;
  return Object.assign(gateway, {
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  });
};

const readAll = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
};
