import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { assigned, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readGatewayConfig } from '../../../src/config.ts';
import { openTestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { anOutput, FILE_KEY } from '../../fixtures/runs/an-output.ts';
import { anEdge } from '../../fixtures/gateway/an-edge.ts';
import { rawRequest } from '../../fixtures/requests/raw-request.ts';

const opened = new AsyncDisposableStack();
let log: EventLog;
beforeAll(async () => {
  const { login } = opened.use(await testAccount());
  log = opened.use(await openEventLog({ ...login, name: 'gateway' }, silentLogger));
});
afterAll(() => opened.disposeAsync());

const setting = (name: string, text: string) => () =>
  readGatewayConfig({
    RUNLEDGER_SECRET_KEYS: Buffer.alloc(32, 1).toString('base64'),
    [name]: text,
  });

describe('the address of a client in the log', () => {
  const loggedFor = async (trustedProxies: readonly string[], ...forwarded: readonly string[]) => {
    await using edge = await anEdge({ log, trustedProxies });
    const lines = forwarded.map((value) => `X-Forwarded-For: ${value}\r\n`).join('');
    await rawRequest(edge.url, `GET /still HTTP/1.1\r\nHost: x\r\n${lines}\r\n`);
    const line = await waitFor('the line', () => edge.lines().find(({ msg }) => msg === 'answered'));
    return line['client_ip'];
  };

  it.each([
    ['nobody', [], ['203.0.113.9'], '127.0.0.1'],
    ['others', ['10.0.0.0/8'], ['203.0.113.9'], '127.0.0.1'],
    ['the proxy, which names nobody', ['loopback'], [], '127.0.0.1'],
    ['the proxy', ['loopback'], ['203.0.113.9'], '203.0.113.9'],
    ['the proxy, whose client claims to be another', ['loopback'], ['1.1.1.1, 203.0.113.9'], '203.0.113.9'],
    [
      'the proxy, whose client claims to be one too',
      ['loopback'],
      ['1.1.1.1, 127.0.0.1, 203.0.113.9'],
      '203.0.113.9',
    ],
    [
      'the proxy, whose client sends a header of its own',
      ['loopback'],
      ['1.1.1.1', '203.0.113.9'],
      '203.0.113.9',
    ],
    ['two proxies', ['127.0.0.1', '10.1.0.0/16'], ['1.1.1.1, 203.0.113.9, 10.1.2.3'], '203.0.113.9'],
    ['one of two proxies', ['127.0.0.1'], ['203.0.113.9, 10.1.2.3'], '10.1.2.3'],
    ['the proxy, before IPv6', ['loopback'], ['2001:db8::7'], '2001:db8::7'],
    ['the proxy, before IPv4 in IPv6', ['loopback'], ['::ffff:203.0.113.9'], '203.0.113.9'],
    ['the proxy, which says unknown', ['loopback'], ['unknown'], '127.0.0.1'],
    ['the proxy, which says what is no address', ['loopback'], ['{"level":"fatal"}'], '127.0.0.1'],
    ['the proxy, which says a number', ['loopback'], ['1.1.1.1, 2130706433'], '127.0.0.1'],
    ['the proxy, which says nothing', ['loopback'], [', ,'], '127.0.0.1'],
  ])('is found when trusting %s', async (_name, trusted, forwarded, expected) => {
    expect(await loggedFor(trusted, ...forwarded)).toBe(expected);
  });

  it('is said once to be ignored, when a host names it that is no trusted proxy', async () => {
    await using edge = await anEdge({ log });
    const ask = (lines: string) => rawRequest(edge.url, `GET /still HTTP/1.1\r\nHost: x\r\n${lines}\r\n`);
    await ask('');
    for (const client of ['203.0.113.9', '203.0.113.10']) await ask(`X-Forwarded-For: ${client}\r\n`);
    const answered = () => edge.lines().filter(({ msg }) => msg === 'answered');
    await waitFor('the lines', () => answered().length === 3);
    const said = edge.lines().filter(({ proxy }) => proxy !== undefined);
    expect(said).toEqual([
      expect.objectContaining({
        level: 'warn',
        proxy: '127.0.0.1',
        msg: expect.stringContaining('name it in RUNLEDGER_TRUSTED_PROXIES'),
      }),
    ]);
  });

  it('is never read from non-standard headers', async () => {
    await using edge = await anEdge({ log, trustedProxies: ['loopback'] });
    await rawRequest(
      edge.url,
      'GET /still HTTP/1.1\r\nHost: x\r\nForwarded: for=1.1.1.1\r\nX-Real-IP: 1.1.1.1\r\n\r\n',
    );
    const line = await waitFor('the line', () => edge.lines().find(({ msg }) => msg === 'answered'));
    expect(line['client_ip']).toBe('127.0.0.1');
  });

  it('comes from the proxies that a setting names', () => {
    const read = setting('RUNLEDGER_TRUSTED_PROXIES', 'loopback, 10.0.0.5,10.1.0.0/16,2001:db8::/32');
    const names = ['loopback', '10.0.0.5', '10.1.0.0/16', '2001:db8::/32'];
    expect(read().RUNLEDGER_TRUSTED_PROXIES).toEqual(names);
    expect(setting('RUNLEDGER_TRUSTED_PROXIES', '')().RUNLEDGER_TRUSTED_PROXIES).toEqual([]);
  });

  it.each(['proxy.example', '10', '10.0.0.0/33', '0.0.0.0/0', '::/0', '10.0.0.0/x', '*', 'true'])(
    'cannot come from a proxy called %s: the setting is refused with a sentence',
    (text) => {
      expect(setting('RUNLEDGER_TRUSTED_PROXIES', `loopback,${text}`)).toThrow(
        /RUNLEDGER_TRUSTED_PROXIES .*\(number 2\) that is neither an IP address, nor a network, nor loopback/,
      );
    },
  );
});

describe('an address in a response', () => {
  it('is never made from the headers of the request', async () => {
    await using bed = await openTestBed();
    const gateway = await bed.gateway({ environment: { RUNLEDGER_TRUSTED_PROXIES: 'loopback' } });
    const run = await queueSample(gateway, bed.tenant);
    await appendAll(bed.log, assigned(run), started(run), succeeded(run, [anOutput]));
    const { status, body } = await rawRequest(
      gateway.url,
      `GET /api/run/${run.run_id} HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer ${bed.tenant.key}\r\n` +
        'X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\nForwarded: host=evil.example\r\n\r\n',
    );
    const [image] = JSON.parse(body).outputs[0].data.images;
    expect([status, image.url]).toEqual([200, `${gateway.url}/outputs/${FILE_KEY}/a%20b.png`]);
    expect(body).not.toContain('evil.example');
  });
});

describe('security headers', () => {
  const headersOf = async (publicUrl: string | undefined, path: string) => {
    await using edge = await anEdge({ log, publicUrl });
    return (await fetch(`${edge.url}${path}`)).headers;
  };

  it.each(['/still', '/api/thing', '/nowhere', '/refuse/bug'])(
    'are part of the response to %s',
    async (path) => {
      expect(Object.fromEntries(await headersOf(undefined, path))).toMatchObject({
        'api-version': 'V2',
        'x-request-id': expect.stringMatching(/^[\w-]{36}$/),
        'cache-control': 'no-store',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      });
    },
  );

  it('promise https only when the public URL is https', async () => {
    const promised = async (publicUrl: string | undefined) =>
      (await headersOf(publicUrl, '/still')).get('strict-transport-security');
    expect(await promised('https://runs.example')).toBe('max-age=31536000');
    expect(await promised('http://runs.example')).toBeNull();
    expect(await promised(undefined)).toBeNull();
  });

  it('promise https also in the response to a malformed request', async () => {
    await using edge = await anEdge({ log, publicUrl: 'https://runs.example' });
    const { status, headers } = await rawRequest(edge.url, 'nonsense\r\n\r\n');
    expect([status, headers['strict-transport-security']]).toEqual([400, 'max-age=31536000']);
  });

  it('do not name the server software', async () => {
    const headers = await headersOf(undefined, '/still');
    expect([headers.get('server'), headers.get('x-powered-by')]).toEqual([null, null]);
  });
});
