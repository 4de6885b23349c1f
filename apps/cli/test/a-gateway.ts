import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly body: unknown;
}
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An HTTP server that gives these answers in turn, the last one for ever, and remembers what it was asked. */
export const aGateway = async (...answers: Answer[]): Promise<{ url: string; asked: Asked[] }> => {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = '', url: path = '', headers } = request;
      asked.push({
        method,
        path,
        key: headers.authorization ?? '',
        body: body === '' ? null : JSON.parse(body),
      });
      const answer = answers[Math.min(asked.length, answers.length) - 1];
      response.writeHead(answer?.status ?? 500, { 'content-type': 'application/json', ...answer?.headers });
      response.end(typeof answer?.body === 'string' ? answer.body : JSON.stringify(answer?.body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
  return { url: `http://127.0.0.1:${address.port}/api`, asked };
};

export const RUN = '01920000-0000-7000-8000-00000000000a';

export const aRun = (changes: object = {}): Answer => ({
  status: 200,
  body: {
    id: RUN,
    status: 'running',
    progress: 0.5,
    live_status: 'row 1/2',
    created_at: '2026-05-01T12:00:00.000Z',
    started_at: null,
    ended_at: null,
    duration: null,
    gpu: 'A10G',
    finished: false,
    end_reason: null,
    outputs: [],
    a_later_field: 7,
    ...changes,
  },
});
