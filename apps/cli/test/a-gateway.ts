import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

interface Asked {
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

interface FakeGateway {
  readonly url: string;
  readonly asked: Asked[];
  /** Of each request. */
  readonly headers: IncomingHttpHeaders[];
}

/** The request is read, and its answer lost. */
export const LOST: Answer = { status: 0, body: null };

/** An HTTP server that gives these answers in turn, the last one for ever, and remembers what it was asked. */
export const aGateway = async (...answers: Answer[]): Promise<FakeGateway> => {
  const asked: Asked[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = '', url: path = '' } = request;
      headers.push(request.headers);
      asked.push({
        method,
        path,
        key: request.headers.authorization ?? '',
        body: body === '' ? null : JSON.parse(body),
      });
      const answer = answers[Math.min(asked.length, answers.length) - 1];
      if (answer?.status === 0) return void request.socket.destroy();
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
  return { url: `http://127.0.0.1:${address.port}/api`, asked, headers };
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
    updated_at: '2026-05-01T12:00:01.000Z',
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

/** A stream that says all this at once, and ends. */
export const aStream = (...frames: string[]): Answer => ({
  status: 200,
  body: frames.join(''),
  headers: { 'content-type': 'text/event-stream' },
});

export const aFact = (id: number, time = '2026-05-01T12:00:02.000Z'): string =>
  `id: ${id}\nevent: fact\ndata: ${JSON.stringify({ sequence: id, time, a_later_field: 7 })}\n\n`;

export const someProgress = (progress: number, live_status = 'row 1/2'): string =>
  `event: progress\ndata: ${JSON.stringify({ progress, live_status })}\n\n`;

export const COMMENT = ': waiting\n\n';
