import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readGatewayConfig } from '../../../src/config.ts';
import { openTestBed } from '../../fixtures/gateway/test-bed.ts';
import { anEdge, type AnEdge } from '../../fixtures/gateway/an-edge.ts';
import { rawRequest } from '../../fixtures/requests/raw-request.ts';

const APP = 'https://app.example.com';
const OTHER = 'https://other.example.com';

const opened = new AsyncDisposableStack();
let log: EventLog;
let some: AnEdge;
let all: AnEdge;
let off: AnEdge;
beforeAll(async () => {
  const { login } = opened.use(await testAccount());
  log = opened.use(await openEventLog({ ...login, name: 'gateway' }, silentLogger));
  some = opened.use(await anEdge({ log, corsOrigins: [APP, 'http://localhost:5173'] }));
  all = opened.use(await anEdge({ log, corsOrigins: ['*'] }));
  off = opened.use(await anEdge({ log }));
});
afterAll(() => opened.disposeAsync());

const ask = (edge: AnEdge, path: string, origin: string | null, init: RequestInit = {}) => {
  const headers = new Headers(init.headers);
  if (origin !== null) headers.set('origin', origin);
  return fetch(`${edge.url}${path}`, { ...init, headers });
};
const preflight = (edge: AnEdge, path: string, origin: string) =>
  ask(edge, path, origin, {
    method: 'OPTIONS',
    headers: {
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization,last-event-id',
    },
  });
const corsHeaders = ({ headers }: Response): string[] =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'));

describe('a response to a page of an allowed origin', () => {
  it('may be read, with the headers that clients need', async () => {
    const { status, headers } = await ask(some, '/api/thing', APP, {
      headers: { authorization: 'Bearer good' },
    });
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBe(APP);
    const exposed = headers.get('access-control-expose-headers')?.split(',');
    expect(exposed?.toSorted()).toEqual([
      'API-Version',
      'ETag',
      'Location',
      'RateLimit',
      'RateLimit-Policy',
      'Retry-After',
      'Runledger-Ignored-Members',
      'Runledger-Warning',
      'Tus-Resumable',
      'Upload-Expires',
      'Upload-Length',
      'Upload-Offset',
      'X-Request-Id',
    ]);
    expect(headers.has('access-control-allow-credentials')).toBe(false);
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(headers.get('vary')).toBe('Origin, Accept');
  });

  it.each([
    ['/api/thing', 401],
    ['/api/nowhere', 404],
    ['/refuse/conflict', 409],
    ['/refuse/invalid', 422],
    ['/refuse/bug', 500],
    ['/refuse/log_unavailable', 503],
  ])('may be read when it is a refusal: %s, %i', async (path, status) => {
    const answer = await ask(some, path, APP);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('access-control-allow-origin')).toBe(APP);
    expect(answer.headers.get('access-control-expose-headers')).toContain('X-Request-Id');
    expect(answer.headers.get('vary')).toBe('Origin');
  });

  it('may be read when nothing has changed', async () => {
    const init = { headers: { authorization: 'Bearer good' } };
    const etag = (await ask(some, '/api/thing', APP, init)).headers.get('etag') ?? '';
    const { status, headers } = await rawRequest(
      some.url,
      `GET /api/thing HTTP/1.1\r\nHost: x\r\nOrigin: ${APP}\r\nAuthorization: Bearer good\r\nIf-None-Match: ${etag}\r\n\r\n`,
    );
    expect([status, headers['access-control-allow-origin']]).toEqual([304, APP]);
  });

  it('may be read when it is an output file', async () => {
    const { headers } = await ask(some, '/outputs/a', APP);
    expect(headers.get('access-control-allow-origin')).toBe(APP);
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
  });
});

describe('a preflight', () => {
  it('is answered without a key, with the methods of the path', async () => {
    const answer = await preflight(some, '/api/thing', APP);
    expect([answer.status, await answer.text()]).toEqual([204, '']);
    expect(answer.headers.get('access-control-allow-origin')).toBe(APP);
    expect(answer.headers.get('access-control-allow-methods')).toBe('GET, HEAD');
    expect(answer.headers.get('access-control-max-age')).toBe('7200');
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
    expect(answer.headers.get('vary')).toBe('Origin');
    const allowed = answer.headers.get('access-control-allow-headers')?.toLowerCase().split(',');
    expect(allowed?.toSorted()).toEqual([
      'authorization',
      'content-type',
      'idempotency-key',
      'if-none-match',
      'last-event-id',
      'range',
      'traceparent',
      'tus-resumable',
      'upload-length',
      'upload-metadata',
      'upload-offset',
      'x-request-id',
    ]);
  });

  it('of an unknown path is a 404', async () => {
    const answer = await preflight(some, '/api/nowhere', APP);
    expect([answer.status, corsHeaders(answer), answer.headers.get('vary')]).toEqual([404, [], 'Origin']);
  });

  it('is an ordinary request without the requested method', async () => {
    const answer = await ask(some, '/api/thing', APP, { method: 'OPTIONS' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('an origin that is not allowed', () => {
  it.each([
    OTHER,
    'http://app.example.com',
    'https://app.example.com:8443',
    'https://app.example.com.evil.example',
    'https://APP.example.com',
    'null',
    '*',
  ])('gets no CORS headers: %s', async (origin) => {
    for (const answer of [
      await ask(some, '/api/thing', origin),
      await ask(some, '/refuse/conflict', origin),
    ]) {
      expect(corsHeaders(answer)).toEqual([]);
      expect(answer.headers.get('vary')).toBe('Origin');
      expect(answer.headers.get('cross-origin-resource-policy')).toBe('same-origin');
    }
    const asked = await preflight(some, '/api/thing', origin);
    expect([asked.status, corsHeaders(asked), asked.headers.get('vary')]).toEqual([405, [], 'Origin']);
  });

  it('is ignored in a request without an origin', async () => {
    const answer = await ask(some, '/api/thing', null);
    expect([corsHeaders(answer), answer.headers.get('vary')]).toEqual([[], 'Origin']);
  });
});

describe('with *', () => {
  it('allows every page, and never credentials', async () => {
    for (const answer of [await ask(all, '/api/thing', OTHER), await preflight(all, '/api/thing', OTHER)]) {
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
      expect(answer.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    }
  });
});

describe('without the setting', () => {
  it('allows no page of another origin', async () => {
    const answer = await ask(off, '/api/thing', APP);
    expect([corsHeaders(answer), answer.headers.has('vary')]).toEqual([[], false]);
    expect(answer.headers.get('cross-origin-resource-policy')).toBe('same-origin');
    const asked = await preflight(off, '/api/thing', APP);
    expect([asked.status, asked.headers.get('allow'), corsHeaders(asked)]).toEqual([405, 'GET, HEAD', []]);
  });
});

describe('a gateway with other origins', () => {
  it('allows their pages to call operations and read output files, also refusals', async () => {
    await using bed = await openTestBed();
    const gateway = await bed.gateway({ environment: { RUNLEDGER_CORS_ORIGINS: APP } });
    const asked = await fetch(`${gateway.api}/run/deployment/queue`, {
      method: 'OPTIONS',
      headers: {
        origin: APP,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,idempotency-key',
      },
    });
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, APP]);
    expect(asked.headers.get('access-control-allow-methods')).toBe('POST');
    for (const path of ['/api/runs', '/api/run/x', '/outputs/a/b']) {
      const { headers } = await fetch(`${gateway.url}${path}`, { headers: { origin: APP } });
      expect([path, headers.get('access-control-allow-origin')]).toEqual([path, APP]);
    }
  });
});

describe('the setting', () => {
  const read = (text: string) =>
    readGatewayConfig({
      RUNLEDGER_SECRET_KEYS: Buffer.alloc(32, 1).toString('base64'),
      RUNLEDGER_CORS_ORIGINS: text,
    }).RUNLEDGER_CORS_ORIGINS;

  it('may be a list of origins, *, or empty', () => {
    expect(read('')).toEqual([]);
    expect(read('*')).toEqual(['*']);
    expect(read(`${APP}, http://localhost:5173,http://[::1]:81`)).toEqual([
      APP,
      'http://localhost:5173',
      'http://[::1]:81',
    ]);
  });

  it.each([
    'app.example.com',
    'https://app.example.com/',
    'https://app.example.com/path',
    'https://App.example.com',
    'https://app.example.com:443',
    'https://*.example.com',
    'https://user@app.example.com',
    'ftp://app.example.com',
    'null',
  ])('refuses %s with a sentence', (text) => {
    expect(() => read(`${APP},${text}`)).toThrow(
      /RUNLEDGER_CORS_ORIGINS .*\(number 2\) that is neither \* nor an exact origin: .* It should be .*https:\/\/app\.example\.com/,
    );
  });
});
