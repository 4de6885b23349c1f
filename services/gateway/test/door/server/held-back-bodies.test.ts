import { once } from 'node:events';
import type { Socket } from 'node:net';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anAttempt, numbered, type Attempt } from '../../runs/attempts/an-upload.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { open } from '../../fixtures/requests/raw-request.ts';

let bed: TestBed;
let gateway: TestGateway;
let attempt: Attempt;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({
    environment: { RUNLEDGER_FILE_MAX_BYTES: '1000', RUNLEDGER_OUTPUT_FILE_MAX_BYTES: '1000' },
  });
  attempt = await anAttempt(bed, gateway);
});
afterAll(() => bed[Symbol.asyncDispose]());

interface Sent {
  readonly socket: Socket;
  readonly received: () => string;
  readonly closed: Promise<unknown>;
}

/** Sends the headers of a request, and no byte of its body. */
const sendHeaders = (first: string, headers: Readonly<Record<string, string | number>>): Sent => {
  const socket = open(gateway.url);
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => (received += text));
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.write([`${first} HTTP/1.1`, 'Host: x', ...lines, '', ''].join('\r\n'));
  return { socket, received: () => received, closed: once(socket, 'close') };
};
const HELD_BACK = { Expect: '100-continue' };
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

const execution = (name: string): string => {
  const { org_id, run_id } = attempt.run;
  return `/executions/${org_id}/${run_id}/1/${name}`;
};
const JSON_BODY = { 'Content-Type': 'application/json' };

/** Every request with a body that is stored, and a length that is too large for it. */
const uploads = (): readonly [first: string, headers: Record<string, string>][] => [
  ['POST /api/files?filename=a', {}],
  [`PATCH /api/files/uploads/${attempt.run.run_id}`, { 'Content-Type': 'application/offset+octet-stream' }],
  ['POST /api/run/deployment/queue', JSON_BODY],
  ['POST /api/workflows', JSON_BODY],
  [`PUT ${execution('outputs')}?filename=a&subfolder=&type=output`, {}],
  [`PUT ${execution('log')}`, {}],
  [`PUT ${execution('output-list')}`, JSON_BODY],
];

describe('a request whose body waits', () => {
  it('is refused without a valid credential before a byte of the body, and the connection is closed', async () => {
    for (const [first, headers] of uploads())
      for (const credential of [{}, bearer('rl_unknown-unknown-unknown')]) {
        const length = { 'Content-Length': 500_000_000 };
        const held = sendHeaders(first, { ...headers, ...credential, ...length, ...HELD_BACK });
        await held.closed;
        expect([first, held.received().slice(0, 12)]).toEqual([first, 'HTTP/1.1 401']);
        expect(held.received()).toMatch(/^connection: close\r$/im);

        const plain = sendHeaders(first, { ...headers, ...credential, ...length });
        await waitFor('the refusal', () => plain.received().includes('\r\n\r\n'));
        expect([first, plain.received().slice(0, 12)]).toEqual([first, 'HTTP/1.1 401']);
        plain.socket.destroy();
      }
  });

  it('is refused when it announces too much, before a byte of the body', async () => {
    const admin = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
    for (const [first, headers] of uploads().filter(([one]) => !one.startsWith('PATCH'))) {
      const credential = bearer(first.startsWith('PUT') ? attempt.token : admin);
      const held = sendHeaders(first, {
        ...headers,
        ...credential,
        'Content-Length': 500_000_000,
        ...HELD_BACK,
      });
      await held.closed;
      expect([first, held.received().slice(0, 12)]).toEqual([first, 'HTTP/1.1 413']);
    }
  });

  it('is asked for its body once nothing else can be refused', async () => {
    const file = Buffer.from(numbered(900));
    for (const [first, token, body, status] of [
      ['POST /api/files?filename=a', bed.tenant.key, file, 201],
      [`PUT ${execution('outputs')}?filename=a&subfolder=&type=output`, attempt.token, file, 201],
      [`POST /api/run/deployment/queue`, bed.tenant.key, Buffer.from('{}'), 422],
    ] as const) {
      const type = first.startsWith('POST /api/run') ? JSON_BODY : { 'Content-Type': 'image/png' };
      const sent = sendHeaders(first, {
        ...type,
        ...bearer(token),
        'Content-Length': body.length,
        ...HELD_BACK,
      });
      await waitFor('the gateway to ask for the body', () => sent.received() !== '');
      expect([first, sent.received()]).toEqual([first, 'HTTP/1.1 100 Continue\r\n\r\n']);
      sent.socket.write(body);
      await waitFor('the response', () => sent.received().includes('API-Version'));
      expect(sent.received().split('\r\n\r\n')[1]).toContain(`HTTP/1.1 ${status}`);
      sent.socket.destroy();
    }
  });
});
