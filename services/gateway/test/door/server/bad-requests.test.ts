import { gzipSync } from 'node:zlib';
import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/records/keys/api-keys.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { rawRequest, type RawAnswer } from '../../fixtures/requests/raw-request.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const path = () => new URL(`${gateway.api}/run/deployment/queue`).pathname;
const sendBody = (
  body: string | Uint8Array<ArrayBuffer>,
  contentType: string | null = 'application/json',
  headers: Record<string, string> = {},
) =>
  call(`${gateway.api}/run/deployment/queue`, bed.tenant.key, {
    method: 'POST',
    body,
    headers: { ...(contentType === null ? {} : { 'content-type': contentType }), ...headers },
  });
const bytes = (...parts: (string | number[])[]) =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === 'string' ? [...Buffer.from(part)] : part)));
const raw = (head: string, ...rest: (string | Uint8Array)[]) =>
  rawRequest(gateway.url, `${head.replaceAll('\n', '\r\n')}\r\n\r\n`, ...rest);
const expectOurForm = ({ headers, body }: RawAnswer) => {
  expect(headers).toMatchObject({
    'api-version': 'V2',
    'x-content-type-options': 'nosniff',
    'content-type': 'application/json; charset=utf-8',
  });
  const { code, request_id } = JSON.parse(body);
  expect(JSON.parse(body)).toEqual(aRefusal(code));
  expect(headers['x-request-id']).toBe(request_id);
};

describe('a body that is not JSON', () => {
  const sample = () => `"deployment_id":"${bed.tenant.deployment.id}"`;
  it.each([
    ['broken', () => '{"deployment_id":'],
    ['a word', () => 'nonsense'],
    ['only white space', () => '  '],
    ['with a trailing comma', () => '{"a":1,}'],
    ['with NaN', () => '{"inputs":{"a":NaN}}'],
    ['with 1e400', () => `{${sample()},"inputs":{"a":1e400}}`],
    ['with -1e400 in an unknown field', () => `{${sample()},"x":[[-1e400]]}`],
    ['with an integer that is too long', () => `{${sample()},"inputs":{"seed":1${'0'.repeat(309)}}}`],
    ['with half of a surrogate pair', () => `{${sample()},"inputs":{"a":"\\ud800"}}`],
    ['with half of a pair in a name', () => `{${sample()},"inputs":{"\\udc00":1}}`],
    ['with an invalid byte', () => bytes('{"a":"', [0xff], '"}')],
    ['with an overlong form', () => bytes('{"a":"', [0xc0, 0xaf], '"}')],
    ['with a cut sequence as long as U+FFFD', () => bytes('{"a":"', [0xf0, 0x90, 0x80], '"}')],
    ['in UTF-16', () => Uint8Array.from(Buffer.from('{"a":1}', 'utf16le'))],
  ])('is json_invalid: %s', async (_name, body) => {
    const answer = await sendBody(body());
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toHaveLength(1);
    expect(answer.body.detail[0]).toMatchObject({ type: 'json_invalid', msg: /^Send JSON in UTF-8: / });
    expect(answer.body.detail[0].loc[0]).toBe('body');
  });

  it('may nest as deeply as its length allows, and is refused without harm', async () => {
    const deep = `{${sample()},"inputs":{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`;
    expect((await sendBody(deep)).body.detail[0].type).toBe('json_invalid');
    const ignored = `{"deployment_id":1,"x":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    expect((await sendBody(ignored)).body.detail[0].type).toBe('uuid_type');
  });

  it.each([
    ['POST', '/run/deployment/queue', 'deployment_id'],
    ['POST', '/run/deployment/queue', 'inputs'],
    ['POST', '/runs/cancel', 'filter'],
    ['POST', '/webhooks/redeliver', 'filter'],
    ['POST', '/machines', 'runner'],
    ['POST', '/deployments', 'retry'],
    ['POST', '/api-keys', 'scopes'],
  ])('does no harm to %s %s when its %s nests 100,000 levels', async (method, where, name) => {
    const key = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
    const nested = (open: string, close: string) => {
      const body = `{"${name}":${open.repeat(100_000)}1${close.repeat(100_000)}}`;
      return call(`${gateway.api}${where}`, key, {
        method,
        headers: { 'content-type': 'application/json' },
        body,
      });
    };
    const lists = await nested('[', ']');
    expect(lists.status).toBe(422);
    expect(lists.body.detail.map(({ loc }: { loc: string[] }) => loc[1])).toContain(name);
    // A filter ignores names that it does not know.
    expect([200, 422]).toContain((await nested('{"a":', '}')).status);
  });

  it('keeps an exact integer, and a seed of 64 bits as a text', async () => {
    const inputs = '{"most":9007199254740992,"seed":"18446744073709551615"}';
    const { body } = await sendBody(`{${sample()},"inputs":${inputs}}`);
    const { run_id } = body;
    const kept = await call(`${gateway.api}/run/${run_id}?include=inputs`, bed.tenant.key);
    expect(JSON.stringify(kept.body.workflow_inputs)).toBe(inputs);
  });

  it('uses the last of duplicate members', async () => {
    const { status } = await sendBody(`{"deployment_id":5,${sample()}}`);
    expect(status).toBe(200);
  });

  it('keeps every character of UTF-8', async () => {
    const text = 'ü€😀\u0000\u0080\u00ff\ufffd';
    const { body } = await sendBody(
      JSON.stringify({ deployment_id: bed.tenant.deployment.id, inputs: { text } }),
    );
    const shown = await call(`${gateway.api}/run/${body.run_id}?include=inputs`, bed.tenant.key);
    expect(shown.body.workflow_inputs).toEqual({ text });
  });
});

describe('a body of the wrong kind or size', () => {
  it.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['nonsense', 415],
    [null, 415],
    ['application/json; charset=iso-8859-1', 415],
    ['application/json; charset="utf-16"', 415],
    ['application/json; charset=UTF-8', 422],
    ['application/json;charset="utf-8"', 422],
    ['application/vnd.api+json', 422],
  ])('gets the response for %s: %i', async (contentType, status) => {
    // Without a type of its own, fetch would give a text one.
    const answer = await sendBody(bytes('{}'), contentType);
    expect(answer.status).toBe(status);
    // A sentence for all but 422, which has a list.
    expect(Array.isArray(answer.body.detail)).toBe(status === 422);
  });

  it('may have 1 MiB and no more', async () => {
    const body = (length: number) =>
      `{"deployment_id":"${bed.tenant.deployment.id}","pad":"`.padEnd(length - 2, 'x') + '"}';
    expect((await sendBody(body(1024 * 1024))).status).toBe(200);
    for (const length of [1024 * 1024 + 1, 2 * 1024 * 1024]) {
      const { status, body: response } = await sendBody(body(length));
      expect([status, response]).toEqual([
        413,
        aRefusal('body_too_large', 'The body may have at most 1048576 bytes'),
      ]);
    }
  });

  it('is limited after inflation, and in chunks', async () => {
    const large = `{"a":"${'x'.repeat(2 * 1024 * 1024)}"}`;
    const packed = await sendBody(Uint8Array.from(gzipSync(large)), 'application/json', {
      'content-encoding': 'gzip',
    });
    expect(packed.status).toBe(413);
    const head = `POST ${path()} HTTP/1.1\nHost: x\nAuthorization: Bearer ${bed.tenant.key}\nContent-Type: application/json\nTransfer-Encoding: chunked`;
    const chunk = `${(128 * 1024).toString(16)}\r\n${'x'.repeat(128 * 1024)}\r\n`;
    const chunked = await raw(head, ...Array.from({ length: 16 }, () => chunk), '0\r\n\r\n');
    expect(chunked.status).toBe(413);
    expectOurForm(chunked);
  });

  it('is inflated, or refused when it cannot be inflated', async () => {
    const packed = Uint8Array.from(gzipSync('{}'));
    const send = (encoding: string, body = packed) =>
      sendBody(body, 'application/json', { 'content-encoding': encoding });
    expect((await send('gzip')).body.detail[0].type).toBe('missing');
    expect((await send('gzip', bytes('{}'))).status).toBe(400);
    expect((await send('zstd')).status).toBe(415);
  });

  it('gets a readable 413 also when the client sends it without waiting', async () => {
    const head = `POST ${path()} HTTP/1.1\nHost: x\nAuthorization: Bearer ${bed.tenant.key}\nContent-Type: application/json\nContent-Length: 4000000`;
    const answer = await raw(head, 'x'.repeat(4_000_000));
    expect(answer.status).toBe(413);
    expectOurForm(answer);
  });
});

describe('a credential', () => {
  it.each([
    ['is missing', {}],
    ['is not a key', { authorization: 'Bearer rl_nonsense_nonsense_nonsense' }],
    ['is of another scheme', { authorization: 'Basic YTpi' }],
    ['is empty', { authorization: 'Bearer ' }],
    ['holds a space', { authorization: 'Bearer a b' }],
  ])('gets a 401 on every operation: %s', async (_name, headers) => {
    const id = newUuid();
    for (const [method, where] of [
      ['POST', '/run/deployment/queue'],
      ['GET', `/run/${id}`],
      ['POST', `/run/${id}/cancel`],
    ] as const) {
      const answer = await call(`${gateway.api}${where}`, null, { method, headers });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(['credential_missing', 'credential_invalid']).toContain(answer.body.code);
      expect(answer.body).toEqual(aRefusal(answer.body.code));
    }
  });

  it('gets a 401 when it has expired', async () => {
    const key = await aKey(bed.log, bed.tenant, { expires_at: '2020-01-01T00:00:00.000Z' });
    expect((await call(`${gateway.api}/run/${newUuid()}`, key)).status).toBe(401);
  });

  it('gets a 403 when it lacks the scope, and none when its scope implies it', async () => {
    const keyWith = (scope: 'runs:read' | 'admin') => aKey(bed.log, bed.tenant, { scopes: [scope] });
    const body = { deployment_id: bed.tenant.deployment.id };
    const reader = await keyWith('runs:read');
    const queued = await post(`${gateway.api}/run/deployment/queue`, reader, body);
    expect([queued.status, queued.body]).toEqual([
      403,
      aRefusal('scope_missing', 'This API key lacks the scope runs:write'),
    ]);
    expect((await post(`${gateway.api}/run/${newUuid()}/cancel`, reader)).status).toBe(403);
    expect((await call(`${gateway.api}/run/${newUuid()}`, reader)).status).toBe(404);
    expect((await post(`${gateway.api}/run/deployment/queue`, await keyWith('admin'), body)).status).toBe(
      200,
    );
  });

  it('is stored as a hash only', async () => {
    const { org_id, user_id } = bed.tenant;
    const { key, record } = await createApiKey(bed.log, { org_id, user_id, name: 'new' });
    expect(key).toMatch(/^rl_[\w-]{43}$/);
    expect(JSON.stringify(record)).not.toContain(key);
    const held = await bed.log.jsm.streams.getMessage('KV_KEYS', { last_by_subj: '$KV.KEYS.>' });
    expect(held?.string()).not.toContain(key);
    expect(held?.subject).not.toContain(key);
  });
});

describe('the order of checks', () => {
  it('is path, method, credential, scope, content type, size, validation, existence', async () => {
    const url = `${gateway.api}/run/deployment/queue`;
    const big = 'x'.repeat(2_000_000);
    const send = (where: string, init: RequestInit, key: string | null) => call(where, key, init);
    const reader = await aKey(bed.log, bed.tenant, { scopes: ['runs:read'] });
    const text = { 'content-type': 'text/plain' };
    expect((await send(`${gateway.api}/nowhere`, { method: 'PATCH' }, null)).status).toBe(404);
    expect((await send(url, { method: 'PATCH', body: big, headers: text }, null)).status).toBe(405);
    expect((await send(url, { method: 'POST', body: big, headers: text }, null)).status).toBe(401);
    expect((await send(url, { method: 'POST', body: big, headers: text }, reader)).status).toBe(403);
    const { key } = bed.tenant;
    expect((await send(url, { method: 'POST', body: big, headers: text }, key)).status).toBe(415);
    const json = { 'content-type': 'application/json' };
    expect((await send(url, { method: 'POST', body: big, headers: json }, key)).status).toBe(413);
    const wrong = JSON.stringify({ deployment_id: newUuid(), gpu: 'x' });
    expect((await send(url, { method: 'POST', body: wrong, headers: json }, key)).status).toBe(422);
  });
});

describe('an unknown path or method', () => {
  it.each([
    ['GET', '/api', 404],
    ['GET', '/api/', 404],
    ['GET', '/run/deployment/queue', 404],
    ['GET', '/api/run/a/b/c', 404],
    ['GET', '/api/RUN/x', 404],
    ['GET', '//', 404],
    ['GET', '/%', 404],
    ['GET', '/outputs/a/b', 404],
    ['PUT', '/executions/a/b/1/outputs', 404],
    ['PATCH', '/api/run/x', 405],
    ['GET', '/api/run/x/cancel', 405],
    ['OPTIONS', '/api/run/x', 405],
    ['PROPFIND', '/api/run/x', 405],
    ['GET', '/api/run/%', 401],
    ['DELETE', '/api/invitations/accept', 405],
    ['GET', 'http://[/', 400],
    ['OPTIONS', '*', 404],
  ])('gets the response for %s %s: %i', async (method, target, status) => {
    const answer = await raw(`${method} ${target} HTTP/1.1\nHost: x`);
    expect(answer.status).toBe(status);
    expectOurForm(answer);
  });

  it('gets the list of methods', async () => {
    const allowed = async (where: string) =>
      (await call(`${gateway.api}${where}`, null, { method: 'PATCH' })).headers.get('allow');
    expect(await allowed('/run/deployment/queue')).toBe('POST');
    expect(await allowed('/run/x')).toBe('DELETE, GET, HEAD');
    expect(await allowed('/run/x/cancel')).toBe('POST');
    expect(await allowed('/invitations/x')).toBe('DELETE');
  });

  it.each(['/invitations/accept', '/invitations/preview'])('of %s, which is no invitation', async (path) => {
    const asked = await call(`${gateway.api}${path}`, null, { method: 'OPTIONS' });
    expect([asked.status, asked.headers.get('allow')]).toEqual([405, 'POST']);
    const answer = await call(`${gateway.api}${path}`, null, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"password": "correct horse battery staple"}',
    });
    expect(answer.status).toBe(422);
  });
});

describe('a malformed request', () => {
  it.each([
    ['nonsense', 'nonsense', 400],
    ['an unknown method', 'BREW / HTTP/1.1\nHost: x', 400],
    ['two lengths', 'POST / HTTP/1.1\nHost: x\nContent-Length: 1\nContent-Length: 2', 400],
    ['length and chunks', 'POST / HTTP/1.1\nHost: x\nContent-Length: 1\nTransfer-Encoding: chunked', 400],
    ['a header with a control character', 'GET / HTTP/1.1\nHost: x\nA: \u0001', 400],
    ['no host', 'GET /api HTTP/1.1', 400],
    ['headers beyond 16 KiB', `GET / HTTP/1.1\nHost: x\nA: ${'x'.repeat(20_000)}`, 431],
    ['an expectation', 'POST / HTTP/1.1\nHost: x\nExpect: wonders', 417],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\nHost: x', 405],
  ])('gets a response in the form of the API: %s', async (_name, head, status) => {
    const answer = await raw(head);
    expect(answer.status).toBe(status);
    expectOurForm(answer);
  });

  it('does no harm when its body ends early', async () => {
    const head = `POST ${path()} HTTP/1.1\nHost: x\nAuthorization: Bearer ${bed.tenant.key}\nContent-Type: application/json\nTransfer-Encoding: chunked`;
    const answer = await raw(head, 'zz\r\n');
    expect(answer.status).toBe(400);
    expectOurForm(answer);
    expect((await call(`${gateway.api}/run/${newUuid()}`, bed.tenant.key)).status).toBe(404);
  });
});

describe('every response', () => {
  it('has the version, a request id and security headers', async () => {
    const mine = await call(`${gateway.api}/nowhere`, null, { headers: { 'x-request-id': 'mine-1' } });
    expect(mine.headers.get('x-request-id')).toBe('mine-1');
    const { headers } = await call(`${gateway.api}/run/${newUuid()}`, bed.tenant.key);
    expect(headers.get('api-version')).toBe('V2');
    expect(headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('is counted by operation and status', async () => {
    const lines = (await gateway.metrics.metrics()).split('\n');
    const counted = lines.filter((line) => line.startsWith('runledger_gateway_http_requests_total'));
    const labels = ['operation="getRun"', 'status="404"'];
    expect(counted.filter((line) => labels.every((label) => line.includes(label)))).toHaveLength(1);
    expect(lines.some((line) => /^runledger_gateway_runs_queued_total\{.*\} [1-9]/.test(line))).toBe(true);
  });
});
