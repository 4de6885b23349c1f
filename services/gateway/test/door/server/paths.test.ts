import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPaths } from '../../../src/door/paths.ts';

const paths = openPaths('/api');
for (const pattern of [
  '/',
  '/api/run/:run_id',
  '/api/run/:run_id/events',
  '/api/run/deployment/queue',
  '/console',
  '/console/{*path}',
  '/outputs/:key/:filename',
])
  paths.register(pattern, 'GET', (ctx) => {
    ctx.body = { pattern, params: ctx['params'] };
  });
paths.register('/api/run/:run_id', 'DELETE', async () => undefined);

const app = new Koa().use(paths.serve);
const server = createServer((request, response) => void app.callback()(request, response));
beforeAll(() => new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening)));
afterAll(() => void server.close());

const get = async (path: string): Promise<unknown> => {
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return response.status === 200 ? response.json() : response.status;
};

describe('the paths of a server', () => {
  it('count without parameters before those with some', async () => {
    expect(await get('/api/run/deployment/queue')).toMatchObject({ pattern: '/api/run/deployment/queue' });
    expect(await get('/api/run/deployment/events')).toMatchObject({ pattern: '/api/run/:run_id/events' });
    expect(await get('/api/run/deployment')).toMatchObject({ params: { run_id: 'deployment' } });
  });

  it('have their parameters decoded, where they can be', async () => {
    expect(await get('/outputs/a%2Fb/%C3%A9.png')).toMatchObject({
      params: { key: 'a/b', filename: 'é.png' },
    });
    expect(await get('/outputs/%/%zz')).toMatchObject({ params: { key: '%', filename: '%zz' } });
  });

  it('are all below one that takes the rest', async () => {
    expect(await get('/console/runs/1')).toMatchObject({ params: { path: 'runs/1' } });
    expect(await get('/console')).toMatchObject({ pattern: '/console' });
  });

  it.each(['/api', '/api/run', '/api/run/1/', '/api/Run/1', '/api/run/1/other', '/outputs/1', '/consoles'])(
    'do not include %s',
    async (path) => {
      expect(await get(path)).toBe(404);
      expect(paths.at(path)).toBeUndefined();
    },
  );

  it('have methods: what is read can be asked for its headers only', () => {
    expect(paths.at('/api/run/1')).toEqual({
      pattern: '/api/run/:run_id',
      methods: ['DELETE', 'GET', 'HEAD'],
    });
  });

  it('begin with a fixed name', () => {
    expect(() => paths.register('/:any', 'GET', async () => undefined)).toThrow(RangeError);
  });
});
