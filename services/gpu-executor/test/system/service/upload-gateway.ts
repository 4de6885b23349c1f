import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { verifyAttempt } from '@runledger/contracts/access/attempt-token';
import type { StoredFile } from '@runledger/contracts/events/run-event-data';
import { isOrgId, isRunId } from '@runledger/contracts/ids';

/** The upload endpoint of a gateway. It accepts files with tokens that `publicKey` verifies. */
export interface UploadGateway extends AsyncDisposable {
  readonly url: string;
  publicKey: string;
  /** The files that it has stored, by filename. */
  readonly stored: Map<string, Buffer>;
  /** The next responses: a status, or a broken connection. Afterwards it responds as a gateway does. */
  failures: (number | 'broken')[];
  readonly tries: number;
}

export const startGateway = async (): Promise<UploadGateway> => {
  const gateway = {
    url: '',
    publicKey: '',
    stored: new Map<string, Buffer>(),
    failures: [] as (number | 'broken')[],
    tries: 0,
  };

  const respond = async (request: IncomingMessage): Promise<{ status: number; body: object } | 'broken'> => {
    gateway.tries += 1;
    const failure = gateway.failures.shift();
    if (failure === 'broken') return 'broken';
    if (failure !== undefined) return { status: failure, body: { detail: `failure ${failure}` } };
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
    gateway.stored.set(filename, bytes);
    const file: StoredFile = {
      key: randomBytes(32).toString('base64url'),
      filename,
      subfolder: url.searchParams.get('subfolder') ?? '',
      content_type: request.headers['content-type'] ?? '',
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      type: 'output',
      upload_duration: 0.01,
    };
    return { status: 201, body: file };
  };

  const server = createServer((request, response) => {
    void respond(request).then((result) => {
      if (result === 'broken') {
        request.socket.destroy();
        return;
      }
      const text = JSON.stringify(result.body);
      response
        .writeHead(result.status, { 'content-type': 'application/json', connection: 'close' })
        .end(text);
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
