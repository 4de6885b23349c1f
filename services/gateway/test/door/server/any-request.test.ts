import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { open as openSocket } from '../../fixtures/requests/raw-request.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ projecting: true });
});
afterAll(() => bed[Symbol.asyncDispose]());

const RUNS = { numRuns: casesOf(20) };
const send = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  call(`${gateway.api}/run/deployment/queue`, bed.tenant.key, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });

describe('any request', () => {
  it('is refused with any bytes, in the form of the API', () =>
    fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (bytes) => {
        const { status, body } = await send(Uint8Array.from(bytes));
        expect([status, body.detail.length > 0]).toEqual([422, true]);
      }),
      RUNS,
    ));

  it('never gets an internal error for any path, query, method or header', () =>
    fc.assert(
      fc.asyncProperty(
        fc.webPath(),
        fc.webQueryParameters(),
        fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'),
        fc.constantFrom('', '/api', '/api/run', '/outputs', '/executions'),
        fc.string().filter((text) => /^[\x20-\x7e]*$/.test(text)),
        async (path, query, method, prefix, header) => {
          const { status } = await call(`${gateway.url}${prefix}${path}?${query}`, bed.tenant.key, {
            method,
            headers: { range: header, 'if-none-match': header, traceparent: header, 'x-request-id': header },
          });
          expect(status).toBeLessThan(500);
        },
      ),
      RUNS,
    ));

  it('gets a response below 500 or a closed connection for any raw bytes', () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom('', 'GET ', 'POST /api/run/deployment/queue HTTP/1.1\r\nHost: x\r\n'),
        fc.uint8Array({ minLength: 1, maxLength: 300 }),
        async (head, bytes) => {
          const socket = openSocket(gateway.url);
          let answer = '';
          socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
          const closed = new Promise((resolve) => socket.once('close', resolve));
          socket.on('error', () => undefined);
          socket.write(head);
          socket.end(bytes);
          await closed;
          expect(answer).toMatch(/^(?:$|HTTP\/1\.1 [1-4])/);
        },
      ),
      RUNS,
    ));

  it('leaves the gateway unchanged', async () => {
    const { status } = await send(JSON.stringify({ deployment_id: bed.tenant.deployment.id }));
    expect(status).toBe(200);
  });
});
