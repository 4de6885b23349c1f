import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post } from '../../fixtures/requests/requests.ts';

const LIMIT = 20;

let bed: TestBed;
let gateways: readonly TestGateway[];
beforeAll(async () => {
  bed = await openTestBed();
  const environment = { RUNLEDGER_RATE_LIMIT: String(LIMIT) };
  gateways = await Promise.all([bed.gateway({ environment }), bed.gateway({ environment })]);
});
afterAll(() => bed[Symbol.asyncDispose]());

const read = (n: number, key: string, run_id: string = newUuid()) =>
  call(`${gateways[n % 2]?.api}/run/${run_id}`, key);
/** As many as it takes until the limit is reached: on a slow machine some flow in meanwhile. */
const exhaust = async (key: string, run_id?: string) => {
  for (let n = 0; n < 20 * LIMIT; n += 1) {
    const answer = await read(n, key, run_id);
    if (answer.status === 429) return { answer, before: n };
  }
  throw new Error('the limit was never reached');
};

describe('the rate limit over HTTP', () => {
  it('shows the rest of the limit in every response', async () => {
    const { status, headers } = await read(0, await aKey(bed.log, bed.tenant, {}));
    expect(status).toBe(404);
    expect(headers.get('ratelimit-policy')).toBe(`"default";q=${LIMIT};w=60`);
    expect(headers.get('ratelimit')).toBe(`"default";r=${LIMIT - 1};t=3`);
    expect(headers.has('retry-after')).toBe(false);
  });

  it('holds for all gateways together, and refuses with 429 until the time in the headers', async () => {
    const key = await aKey(bed.log, bed.tenant, {});
    const began = performance.now();
    const { answer, before } = await exhaust(key);
    const flowedIn = Math.ceil(((performance.now() - began) * LIMIT) / 60_000);
    expect(before).toBeGreaterThanOrEqual(LIMIT - 2);
    expect(before).toBeLessThanOrEqual(LIMIT + flowedIn);
    const { detail, code } = answer.body;
    expect(code).toBe('rate_limited');
    expect(detail).toMatch(/^This API key, with the keys derived from it, may make 20 requests a minute\./);
    const retryAfter = Number(answer.headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(retryAfter).toBeLessThanOrEqual(3);
    expect(answer.headers.get('ratelimit-policy')).toBe(`"default";q=${LIMIT};w=60`);
    expect(answer.headers.get('ratelimit')).toBe(`"default";r=0;t=${retryAfter}`);
  });

  it('is checked after the credential and the scope, and before the request itself', async () => {
    const key = await aKey(bed.log, bed.tenant, { scopes: ['runs:read'] });
    expect((await exhaust(key, 'no-uuid')).answer.status).toBe(429);
    const queue = `${gateways[0]?.api}/run/deployment/queue`;
    expect((await post(queue, `${key}x`, {})).status).toBe(401);
    expect((await post(queue, key, {})).status).toBe(403);
  });
});
