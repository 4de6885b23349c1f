import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { closedLoop } from '../src/load.ts';

const anApi = async (listener: RequestListener): Promise<{ url: string; key: string }> => {
  const server = createServer(listener).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`, key: 'own' };
};

describe('a closed loop', () => {
  it('sends so many requests with paths and keys in turns, and hands over every answer', async () => {
    const asked = new Set<string>();
    const answers: string[] = [];
    const api = await anApi((request, response) => {
      asked.add(`${request.url} ${request.headers.authorization}`);
      response.end('yes');
    });
    const requests = {
      paths: ['/a', '/b'],
      keys: ['one', 'two'],
      onAnswer: (body: string) => answers.push(body),
    };
    await closedLoop(api, requests, { amount: 200 });
    expect(answers).toHaveLength(200);
    expect(asked).toEqual(new Set(['/api/a Bearer one', '/api/b Bearer two']));
  });

  it('posts the bodies', async () => {
    const bodies = new Set<string>();
    const api = await anApi((request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => bodies.add(text));
      request.on('end', () => response.end('yes'));
    });
    await closedLoop(api, { paths: ['/a'], bodies: [{ n: 1 }, { n: 2 }] }, { amount: 100 });
    expect(bodies).toEqual(new Set(['{"n":1}', '{"n":2}']));
  });

  it('fails when one answer is a refusal, because refusals are fast', async () => {
    let count = 0;
    const api = await anApi((_request, response) => {
      response.statusCode = (count += 1) === 50 ? 429 : 200;
      response.end();
    });
    await expect(closedLoop(api, { paths: ['/a'] }, { amount: 100 })).rejects.toThrow(
      '1 of 100 requests to /a failed',
    );
  });
});
