import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const warningsIn = (headers: Headers): string | null => headers.get('runledger-warning');

describe('an unknown path', () => {
  it.each([
    ['POST', '/runs/cancel?key=secret', 'There is no POST /runs/cancel. Did you mean /api/runs/cancel?'],
    ['GET', '/api/runs/', 'There is no GET /api/runs/. Did you mean /api/runs?'],
    ['GET', '/nothing/like/it', 'There is no GET /nothing/like/it.'],
  ])(
    'is named with the one that lacks only its base, or has a slash too many: %s %s',
    async (method, path, sentence) => {
      const { status, body } = await call(`${gateway.url}${path}`, null, { method });
      expect([status, body]).toEqual([
        404,
        aRefusal('path_unknown', `${sentence} /api/docs lists all operations.`),
      ]);
    },
  );

  it('is cut when it is long', async () => {
    const { body } = await call(`${gateway.url}/${'a'.repeat(5_000)}`, null);
    expect(body.detail.length).toBeLessThan(250);
  });
});

describe('a method that a path does not have', () => {
  it('is named with the path as it is documented, and with the others', async () => {
    const { status, headers, body } = await call(`${gateway.api}/run/${newUuid()}`, null, { method: 'PUT' });
    expect([status, headers.get('allow'), body]).toEqual([
      405,
      'DELETE, GET, HEAD',
      aRefusal('method_not_allowed', 'PUT is not allowed on /api/run/{run_id}. Allowed: DELETE, GET, HEAD.'),
    ]);
  });
});

describe('a parameter of a query that an operation does not know', () => {
  it('is refused with the nearest name, and with everything else that is wrong', async () => {
    const { status, body } = await call(`${gateway.api}/runs?stauts=failed&limit=x`, bed.tenant.key);
    expect([status, body]).toEqual([
      422,
      aRefusal('invalid_request', [
        {
          loc: ['query', 'stauts'],
          type: 'extra_forbidden',
          msg: 'This is unknown here: leave it out; did you mean "status"?',
        },
        { loc: ['query', 'limit'], type: 'int_parsing', msg: expect.any(String) },
      ]),
    ]);
  });

  it('is refused where there is none, and __proto__ is an ordinary name', async () => {
    const { body } = await post(`${gateway.api}/runs/cancel?__proto__=1`, bed.tenant.key, { filter: {} });
    expect(body.detail).toMatchObject([{ loc: ['query', '__proto__'], msg: /has no parameters$/ }]);
  });

  it('is ignored by the operations of the specification, which name it', async () => {
    const { run_id } = await queueSample(gateway, bed.tenant);
    const read = await call(`${gateway.api}/run/${run_id}?wiat=30&page=2`, bed.tenant.key);
    expect([read.status, warningsIn(read.headers)]).toEqual([
      200,
      'unknown query parameter "wiat"; did you mean "wait"?, unknown query parameter "page"',
    ]);
    const cancelled = await post(`${gateway.api}/run/${run_id}/cancel?force=1`, bed.tenant.key);
    expect([cancelled.status, warningsIn(cancelled.headers)]).toEqual([
      200,
      'unknown query parameter "force"',
    ]);
  });
});

describe('a member of a body that an operation does not know', () => {
  it('is named in words, beside the list for programs', async () => {
    const fields = { deployment_id: bed.tenant.deployment.id, inptus: {}, zzz: 1 };
    const { status, headers } = await post(`${gateway.api}/run/deployment/queue`, bed.tenant.key, fields);
    expect([status, headers.get('runledger-ignored-members'), warningsIn(headers)]).toEqual([
      200,
      'inptus, zzz',
      'unknown body member "inptus"; did you mean "inputs"?, unknown body member "zzz"',
    ]);
    const all = { deployment_id: bed.tenant.deployment.id };
    const plain = await post(`${gateway.api}/run/deployment/queue`, bed.tenant.key, all);
    expect(warningsIn(plain.headers)).toBeNull();
  });
});
