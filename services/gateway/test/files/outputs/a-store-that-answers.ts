import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { AwsV4Signer } from 'aws4fetch';
import type { S3Bucket } from '../../../src/files/stores/s3-requests.ts';

interface ReceivedRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body: Buffer;
  /** Whether it arrived as it was signed. */
  readonly isSigned: boolean;
}

export interface Answer {
  readonly status: number;
  readonly text?: string;
  readonly headers?: Record<string, string>;
}

/** What the store does with its nth request, from 0: answer, or hang. */
export type Behaviour = (request: ReceivedRequest, n: number) => Answer | 'hang';

export interface AnsweringStore extends AsyncDisposable {
  readonly bucket: S3Bucket;
  readonly received: readonly ReceivedRequest[];
}

/** A server that answers as stores do when something is wrong, which a good one cannot be made to do. */
export const aStoreThatAnswers = async (behaviour: Behaviour): Promise<AnsweringStore> => {
  const received: ReceivedRequest[] = [];
  const bucket = { name: 'files', region: 'eu-1', accessKeyId: 'access', secretAccessKey: 'a-secret-key' };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(Buffer.from(piece as Uint8Array));
    const { method = '', url: path = '' } = request;
    const one = { method, path, body: Buffer.concat(pieces), isSigned: await isSigned(request, bucket) };
    const answer = behaviour(one, received.push(one) - 1);
    if (answer === 'hang') return;
    response.writeHead(answer.status, answer.headers ?? {}).end(answer.text ?? '');
  };
  const server = createServer((request, response) => void handle(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server that listens on TCP has such an address.
  const { port } = server.address() as AddressInfo;
  return {
    bucket: { ...bucket, url: `http://127.0.0.1:${port}/files` },
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

/** Signs what arrived again. */
const isSigned = async (
  { method = '', url = '', headers }: IncomingMessage,
  { region, accessKeyId, secretAccessKey }: Omit<S3Bucket, 'url'>,
): Promise<boolean> => {
  const authorization = headers.authorization ?? '';
  const [, names = ''] = /SignedHeaders=([^,]+)/.exec(authorization) ?? [];
  const signed = names.split(';').filter((name) => name !== 'host');
  const signer = new AwsV4Signer({
    method,
    url: `http://${headers.host}${url}`,
    headers: signed.map((name) => [name, String(headers[name])]),
    datetime: String(headers['x-amz-date']),
    region,
    service: 's3',
    accessKeyId,
    secretAccessKey,
    // What must arrive as it was signed also where the signer would leave it out.
    allHeaders: true,
  });
  return (await signer.sign()).headers.get('authorization') === authorization;
};

export const failure = (status: number, code: string): Answer => ({
  status,
  text: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>because</Message></Error>`,
});
