import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { endedResponses } from '../../../src/runs/run-response.ts';
import { quickReads, type QuickReads } from '../../../src/runs/get.ts';
import { rawRequest } from '../../fixtures/requests/raw-request.ts';
import { aView, folded } from '../../fixtures/runs/folded-runs.ts';
import { aReadingKey } from '../../fixtures/requests/a-key.ts';

const run = aRun();
const history = folded(queued(run), assigned(run), started(run), succeeded(run));
const view = aView(4, history);
const A_KEY = aReadingKey(run.org_id);
const PATH = `/api/run/${run.run_id}`;

/** Who responds to a request: `quick`, or else the operation. */
const whoResponds = async (
  changes: Partial<QuickReads>,
  { method = 'GET', path = PATH, headers = 'Authorization: Bearer good\r\n' } = {},
): Promise<string> => {
  const ended = endedResponses();
  ended.keep(view, 'others', { id: 'quick' });
  const quick = quickReads({
    basePath: '/api',
    headers: {},
    log: { connected: () => true },
    recentKey: (text) => (text === 'good' ? A_KEY : undefined),
    rateAtOnce: () => 'no_limit',
    peek: ({ org_id, run_id }) => (org_id === run.org_id && run_id === run.run_id ? view : undefined),
    fresh: { areFresh: async () => true },
    ended,
    onRead: () => undefined,
    onAnswered: () => undefined,
    addressOf: () => undefined,
    clock: () => 0,
    ...changes,
  });
  const server = createServer((req, res) => quick(req, res, () => void res.end('operation')));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    const sent = `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`;
    const { body } = await rawRequest(`http://127.0.0.1:${port}`, sent);
    return body.includes('operation') ? 'operation' : body.includes('quick') ? 'quick' : body;
  } finally {
    server.close();
  }
};

describe('a read of a run that has ended', () => {
  it('is responded to with what the operation has written', async () => {
    expect(await whoResponds({})).toBe('quick');
  });

  it.each<[string, Partial<QuickReads>]>([
    ['the log is away', { log: { connected: () => false } }],
    ['the key was not authenticated lately', { recentKey: () => undefined }],
    ['the key may not read', { recentKey: () => ({ ...A_KEY, scopes: ['operator'] }) }],
    ['the key is of another organisation', { recentKey: () => ({ ...A_KEY, org_id: aRun().org_id }) }],
    ['the rate is not known, or used up', { rateAtOnce: () => undefined }],
    ['the view is not in memory', { peek: () => undefined }],
    ['the view has changed', { peek: () => aView(4, { ...history }) }],
    ['its notification has changed', { peek: () => aView(4, history, { head: 5, state: undefined }) }],
    ['an admin reads what others have read', { recentKey: () => ({ ...A_KEY, scopes: ['admin'] }) }],
    ['the views are behind the log', { fresh: { areFresh: async () => false } }],
    ['nobody knows whether they are', { fresh: { areFresh: () => Promise.reject(new Error('away')) } }],
  ])('is left to the operation when %s', async (_why, changes) => {
    expect(await whoResponds(changes)).toBe('operation');
  });

  it('is left to the operation when the view changes while its freshness is proven', async () => {
    let present = view;
    const fresh = {
      areFresh: async () => {
        present = aView(9, { ...history });
        return true;
      },
    };
    expect(await whoResponds({ fresh, peek: () => present })).toBe('operation');
  });

  it('counts a request only when it responds', async () => {
    let counted = 0;
    const rateAtOnce = () => {
      counted += 1;
      return 'no_limit' as const;
    };
    await whoResponds({ rateAtOnce, fresh: { areFresh: async () => false } });
    await whoResponds({ rateAtOnce, peek: () => undefined });
    expect(counted).toBe(0);
    await whoResponds({ rateAtOnce });
    expect(counted).toBe(1);
  });

  const key = 'Authorization: Bearer good\r\n';
  it.each([
    { method: 'HEAD' },
    { method: 'DELETE' },
    { path: `${PATH}?include=inputs` },
    { path: `${PATH}/events` },
    { path: PATH.toUpperCase() },
    { headers: '' },
    { headers: 'Authorization: Basic good\r\n' },
    { headers: `${key}If-None-Match: "a"\r\n` },
    { headers: `${key}Origin: https://a.example\r\n` },
    { headers: `${key}Content-Length: 0\r\n` },
    { headers: `${key}Transfer-Encoding: chunked\r\n` },
  ])('is another request, and left to the operation: %j', async (request) => {
    const responds = await whoResponds({}, request);
    expect(request.method === 'HEAD' ? responds === '' : responds === 'operation').toBe(true);
  });
});
