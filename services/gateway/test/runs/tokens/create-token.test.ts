import { newUuid } from '@runledger/contracts/ids';
import { aRun, queued } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { waitFor } from '@runledger/testing/wait-for';
import { call, post } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { aRunToken } from './a-run-token.ts';

let bed: TestBed;
let gateway: TestGateway;
let run: ReturnType<typeof aRun>;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ environment: { RUNLEDGER_RUN_TOKEN_MAX_S: '7200' } });
  run = aRun(bed.tenant.org_id);
  await appendAll(bed.log, queued(run));
});
afterAll(() => bed[Symbol.asyncDispose]());

const create = (body: unknown, key = bed.tenant.key, run_id: string = run.run_id) =>
  post(`${gateway.api}/run/${run_id}/tokens`, key, body);

describe('a token of a run', () => {
  it('is made by any key that may read the run, and no cache keeps it', async () => {
    const key = await aKey(bed.log, bed.tenant, { scopes: ['runs:read'] });
    const { status, headers, body } = await create({ scopes: ['read', 'read', 'logs'] }, key);
    expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
    expect(Object.keys(body)).toEqual(['token', 'expires_at']);
    const seconds = (Date.parse(body.expires_at) - Date.now()) / 1_000;
    expect(Math.abs(seconds - 3_600)).toBeLessThan(30);
  });

  it('is valid as long as it is asked for, and never longer than the setting allows', async () => {
    const { body } = await create({ scopes: ['read'], expires_in_s: 7_200 });
    expect(Math.abs((Date.parse(body.expires_at) - Date.now()) / 1_000 - 7_200)).toBeLessThan(30);
    expect(await create({ scopes: ['read'], expires_in_s: 7_201 })).toMatchObject({
      status: 422,
      body: {
        detail: [
          {
            loc: ['body', 'expires_in_s'],
            msg: 'Send 7200 or less',
            type: 'less_than_equal',
          },
        ],
      },
    });
    for (const body of [{}, { scopes: [] }, { scopes: ['write'] }, { scopes: ['read'], expires_in_s: 0 }])
      expect([body, (await create(body)).status]).toEqual([body, 422]);
  });

  it('expires with its key at the latest', async () => {
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const key = await aKey(bed.log, bed.tenant, { expires_at });
    expect((await create({ scopes: ['read'] }, key)).body).toMatchObject({ expires_at });
  });

  it('has a rate that it shares with all tokens of its key, and not with the key', async () => {
    const limited = await bed.gateway({ environment: { RUNLEDGER_RATE_LIMIT: '30' } });
    const key = await aKey(bed.log, bed.tenant, {});
    const [first, second] = [await aRunToken(limited, key, run), await aRunToken(limited, key, run)];
    const read = (credential: string) => call(`${limited.api}/run/${run.run_id}`, credential);
    await waitFor('the rate of the tokens to be used up', async () => (await read(first)).status === 429);
    const refused = await read(second);
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([429, true]);
    expect(refused.body.detail).toMatch(
      /^The tokens of this API key and of the keys derived from it may make 30/,
    );
    expect((await read(key)).status).toBe(200);
  });

  it('is made for a run of the own organisation only, and by no token', async () => {
    const stranger = await bed.newTenant();
    for (const [key, id] of [
      [stranger.key, run.run_id],
      [bed.tenant.key, newUuid()],
    ] as const)
      expect((await create({ scopes: ['read'] }, key, id)).status).toBe(404);
    const token = await aRunToken(gateway, bed.tenant.key, run);
    expect((await create({ scopes: ['read'] }, token)).status).toBe(403);
  });
});
