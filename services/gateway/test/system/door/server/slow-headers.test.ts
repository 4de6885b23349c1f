import Koa from 'koa';
import { describe, expect, it } from 'vitest';
import { COMMON_HEADERS } from '../../../../src/door/responses.ts';
import { openHttpServer } from '../../../../src/door/http-server.ts';
import { rawRequest } from '../../../fixtures/requests/raw-request.ts';
import { aRefusal } from '../../../fixtures/requests/a-refusal.ts';

describe('a client that does not send its headers within 15 s', { timeout: 60_000 }, () => {
  it('gets a 408 in the form of the API', async () => {
    const headers = COMMON_HEADERS;
    const options = { host: '127.0.0.1', port: 0, finishWithinMs: 100, headers, onStopping: () => undefined };
    await using server = await openHttpServer(new Koa(), options);
    const answer = await rawRequest(server.url, 'POST / HTTP/1.1\r\nHost: x\r\n');
    expect([answer.status, answer.headers['api-version'], answer.headers['connection']]).toEqual([
      408,
      'V2',
      'close',
    ]);
    expect(JSON.parse(answer.body)).toEqual(aRefusal('request_too_slow'));
  });
});
