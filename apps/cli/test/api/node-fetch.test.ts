import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { nodeFetch } from '../../src/api/node-fetch.ts';

const serverOf = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, '127.0.0.1');
  onTestFinished(() => server.close().closeAllConnections());
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return `http://127.0.0.1:${address.port}`;
};

const get = { method: 'GET', headers: {} };

describe('a request', () => {
  it('sends the length of its body in bytes, whatever its method', async () => {
    const url = await serverOf((request, response) => {
      void text(request).then((body) => response.end(`${request.headers['content-length']} ${body}`));
    });
    const bodies = ['grün', new Blob(['grün'])];
    for (const body of bodies)
      expect(await (await nodeFetch(url, { method: 'DELETE', headers: {}, body })).text()).toBe('5 grün');
  });

  it('follows no redirect', async () => {
    const asked: string[] = [];
    const url = await serverOf((request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(302, { location: '/other' }).end();
    });
    expect((await nodeFetch(`${url}/first`, get)).status).toBe(302);
    expect(asked).toEqual(['/first']);
  });

  it('fails with the reason of its signal before the response, and while the body arrives', async () => {
    const reason = new Error('it took too long');
    const silent = await serverOf(() => undefined);
    const before = nodeFetch(silent, { ...get, signal: AbortSignal.abort(reason) });
    await expect(before).rejects.toMatchObject({ cause: reason });
    const slow = await serverOf((_request, response) => void response.write('the beginning'));
    const abort = new AbortController();
    const response = await nodeFetch(slow, { ...get, signal: abort.signal });
    const read = response.text();
    abort.abort(reason);
    await expect(read).rejects.toMatchObject({ cause: reason });
  });

  it('fails when the connection is cut while the body arrives', async () => {
    const url = await serverOf((_request, response) =>
      response.write('the beginning', () => response.destroy()),
    );
    await expect((await nodeFetch(url, get)).text()).rejects.toThrow('aborted');
  });
});
