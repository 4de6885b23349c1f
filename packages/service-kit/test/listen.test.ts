import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { listen } from '../src/listen.ts';

const open = (host: string, port = 0) => {
  const server = createServer((_request, response) => response.end('here'));
  const url = listen(server, { name: 'The test', host, port, setting: 'TEST_PORT' });
  return { url, [Symbol.asyncDispose]: async () => void server.close() };
};

it.each(['127.0.0.1', '0.0.0.0'])(
  'a server that listens on %s is reachable at its reported URL',
  async (host) => {
    await using server = open(host);
    const url = await server.url;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await (await fetch(url)).text()).toBe('here');
  },
);

it('a port in use is reported with what to do', async () => {
  await using server = open('127.0.0.1');
  const port = Number(new URL(await server.url).port);
  await using second = open('127.0.0.1', port);
  await expect(second.url).rejects.toThrow(
    new RegExp(
      `^The test cannot listen on 127\\.0\\.0\\.1:${port} .*Choose another TEST_PORT; 0 takes a free one\\.$`,
    ),
  );
});
