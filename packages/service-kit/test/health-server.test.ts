import { connect } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import {
  openHealthServer,
  type Check,
  type CheckOutcome,
  type HealthOptions,
  type HealthServer,
} from '../src/health-server.ts';
import { healthTokenHeader } from '../src/health-token.ts';
import { createLogger } from '../src/logger.ts';
import { createMetrics } from '../src/metrics.ts';
import { ServiceStopping } from '../src/stop-requests.ts';

const metrics = createMetrics('gateway');
const TOKEN = 'a-token-of-32-characters-or-more';

const opened = (options: Partial<HealthOptions> = {}, lines: string[] = []): Promise<HealthServer> => {
  const logger = createLogger({
    service: 'gateway',
    level: 'info',
    destination: { write: (line) => void lines.push(line) },
  });
  const { signal: stopping } = new AbortController();
  return openHealthServer({
    host: '127.0.0.1',
    port: 0,
    token: TOKEN,
    checks: {},
    metrics,
    logger,
    stopping,
    ...options,
  });
};

const ok: Check = () => ({ ok: true });

const page = (server: HealthServer, path: string, token = TOKEN): Promise<Response> =>
  fetch(`${server.url}${path}`, { headers: healthTokenHeader(token) });

const readiness = async (server: HealthServer): Promise<{ status: number; body: unknown }> => {
  const response = await page(server, '/readyz');
  return { status: response.status, body: await response.json() };
};

describe('/readyz', () => {
  it('answers 200 while every check is ok', async () => {
    await using server = await opened({ checks: { log: ok, views: async () => ({ ok: true }) } });
    expect(await readiness(server)).toEqual({
      status: 200,
      body: { ready: true, checks: { log: { ok: true }, views: { ok: true } } },
    });
  });

  it('answers 503 with the failed checks, including one that throws', async () => {
    const broken: Check = () => {
      throw new Error('no mongodb://me:hunter2@host');
    };
    await using server = await opened({
      checks: { log: () => ({ ok: false, why: 'disconnected' }), broken, ok },
    });
    expect(await readiness(server)).toEqual({
      status: 503,
      body: {
        ready: false,
        checks: {
          log: { ok: false, why: 'disconnected' },
          broken: { ok: false, why: 'no mongodb://[hidden]@host' },
          ok: { ok: true },
        },
      },
    });
  });

  it('abandons a check that hangs, and does not start it again meanwhile', async () => {
    let asked = 0;
    const hanging: Check = () => {
      asked += 1;
      return new Promise(() => {});
    };
    await using server = await opened({ checks: { hanging } });
    const [one, two] = await Promise.all([readiness(server), readiness(server)]);
    expect(one).toMatchObject({
      status: 503,
      body: { checks: { hanging: { why: expect.stringContaining('1000 ms') } } },
    });
    expect(two).toEqual(one);
    expect(asked).toBe(1);
  });

  it('runs checks that were added after the start', async () => {
    const checks: Record<string, Check> = { start: () => ({ ok: false, why: 'still starting' }) };
    await using server = await opened({ checks });
    expect(await readiness(server)).toMatchObject({ status: 503 });
    checks['start'] = ok;
    checks['log'] = ok;
    expect(await readiness(server)).toEqual({
      status: 200,
      body: { ready: true, checks: { start: { ok: true }, log: { ok: true } } },
    });
  });

  it('logs changes of a check, and nothing at other requests', async () => {
    const lines: string[] = [];
    let connected = true;
    const log: Check = () => (connected ? { ok: true } : { ok: false, why: 'disconnected' });
    await using server = await opened({ checks: { log } }, lines);
    for (connected of [true, false, false, true, true]) await readiness(server);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', check: 'log', why: 'disconnected' },
      { level: 'info', check: 'log', msg: 'ready again' },
    ]);
  });

  it('answers 503 from the beginning of the stop', async () => {
    const stop = new AbortController();
    await using server = await opened({ checks: { log: ok }, stopping: stop.signal });
    expect(await readiness(server)).toMatchObject({ status: 200 });
    stop.abort(new ServiceStopping({ kind: 'signal', signal: 'SIGTERM' }));
    expect(await readiness(server)).toEqual({
      status: 503,
      body: { ready: false, checks: { stopping: { ok: false, why: 'SIGTERM was received' } } },
    });
    expect((await fetch(`${server.url}/livez`)).status).toBe(200);
  });
});

describe('a program without the token', () => {
  const checks = {
    log: (): CheckOutcome => ({ ok: true, note: 'nats-2 is away' }),
    consumption: (): CheckOutcome => ({ ok: false, why: 'the consumer of box-a was taken over' }),
  };
  const secrets = /nats-2|box-a|process_cpu/;

  it.each([
    ['none', undefined],
    ['another token', `Bearer ${TOKEN}x`],
    ['a part of it', `Bearer ${TOKEN.slice(0, -1)}`],
    ['an empty one', 'Bearer '],
    ['another scheme', `Basic ${TOKEN}`],
  ])('that sends %s is refused the metrics, and learns how to send the token', async (_what, header) => {
    await using server = await opened({ checks });
    const response = await fetch(`${server.url}/metrics`, {
      headers: header === undefined ? {} : { authorization: header },
    });
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer realm="the health server"',
    ]);
    const text = await response.text();
    expect(text).toContain('send the token of RUNLEDGER_HEALTH_TOKEN as \\"Authorization: Bearer TOKEN\\"');
    expect(text).not.toMatch(secrets);
  });

  it('learns which checks fail, and nothing more', async () => {
    await using server = await opened({ checks });
    for (const headers of [{}, healthTokenHeader('x'.repeat(32))]) {
      const response = await fetch(`${server.url}/readyz`, { headers });
      expect([response.status, await response.json()]).toEqual([
        503,
        {
          ready: false,
          checks: { log: { ok: true }, consumption: { ok: false } },
          details: expect.stringContaining('RUNLEDGER_HEALTH_TOKEN'),
        },
      ]);
    }
  });
});

describe('a health server without a token', () => {
  it('refuses the metrics and the reasons to everybody, and names the setting', async () => {
    await using server = await opened({
      token: undefined,
      checks: { log: () => ({ ok: false, why: 'box-a' }) },
    });
    for (const headers of [{}, healthTokenHeader(''), healthTokenHeader('undefined')]) {
      const response = await fetch(`${server.url}/metrics`, { headers });
      expect([response.status, await response.json()]).toEqual([
        403,
        { error: expect.stringMatching(/RUNLEDGER_HEALTH_TOKEN of this service is not set.*openssl rand/) },
      ]);
      const ready = await fetch(`${server.url}/readyz`, { headers });
      expect([ready.status, await ready.text()]).toEqual([503, expect.not.stringContaining('box-a')]);
    }
    expect((await fetch(`${server.url}/livez`)).status).toBe(200);
  });
});

describe('/livez', () => {
  it('answers 200 even if a check fails', async () => {
    await using server = await opened({ checks: { log: () => ({ ok: false, why: 'disconnected' }) } });
    const response = await fetch(`${server.url}/livez?from=probe`);
    expect([response.status, await response.json()]).toEqual([200, { live: true }]);
  });

  it('answers 503 after an unhandled error', async () => {
    const stop = new AbortController();
    await using server = await opened({ stopping: stop.signal });
    stop.abort(new ServiceStopping({ kind: 'fatal', error: new Error('bug') }));
    expect((await fetch(`${server.url}/livez`)).status).toBe(503);
  });
});

describe('the health server', () => {
  it('serves the metrics as Prometheus text', async () => {
    await using server = await opened();
    const response = await page(server, '/metrics');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await response.text()).toContain('process_cpu_seconds_total{service="gateway"}');
  });

  it('answers HEAD without a body', async () => {
    await using server = await opened();
    const response = await fetch(`${server.url}/readyz`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(0);
  });

  it('answers 404 as JSON for other paths', async () => {
    await using server = await opened();
    const response = await fetch(`${server.url}/nothing`, { method: 'POST', body: 'x' });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ error: expect.stringContaining('/readyz') });
  });

  it('answers 405 with Allow for other methods', async () => {
    await using server = await opened();
    const response = await fetch(`${server.url}/livez`, { method: 'POST', body: 'x' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect(await response.json()).toHaveProperty('error');
  });

  it('reports the port that is in use', async () => {
    await using server = await opened();
    const port = Number(new URL(server.url).port);
    await expect(opened({ port })).rejects.toThrow(`cannot listen on 127.0.0.1:${port}`);
  });

  it('closes while a client sends nothing', async () => {
    const server = await opened();
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.on('error', () => {});
    const closed = once(socket, 'close');
    await once(socket, 'connect');
    socket.write('GET /livez HTTP/1.1\r\n');
    await fetch(`${server.url}/livez`);
    await server[Symbol.asyncDispose]();
    await closed;
    await expect(fetch(`${server.url}/livez`)).rejects.toThrow('fetch failed');
  });
});
