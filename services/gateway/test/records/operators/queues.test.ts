import { newUuid } from '@runledger/contracts/ids';
import type { Pool, PoolsRequest } from '@runledger/contracts/requests/pools';
import { respondWithPools } from '@runledger/request-reply/pools';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, type ApiAnswer } from '../../fixtures/requests/requests.ts';

const counts = { waiting: 2, delayed: 1, running: 1, oldest_queued_at: '2026-05-01T12:00:00.000Z' };
const pool = (gpu: Pool['gpu']): Pool => ({
  gpu,
  slots: 2,
  busy_slots: 1,
  ...counts,
  starts_per_minute: 0.5,
  organisations: [
    {
      org_id: newUuid(),
      ...counts,
      starts_per_minute: 0.5,
      deployments: [{ deployment_id: newUuid(), ...counts }],
      more_deployments: 0,
    },
  ],
  more_organisations: 3,
});
const POOLS = [pool('A10G'), pool('H100'), pool('L4')];

let bed: TestBed;
let gateway: TestGateway;
let operator: string;
let reader: string;
let scheduler: Disposable;
let asked: PoolsRequest[] = [];
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
  operator = await aKey(bed.log, bed.tenant, { scopes: ['operator'] });
  reader = await aKey(bed.log, bed.tenant, { scopes: ['runs:read'] });
  scheduler = respondWithPools(bed.log, (request) => {
    asked.push(request);
    const rest = POOLS.filter(({ gpu }) => request.after === null || gpu > request.after);
    return { pools: rest.slice(0, request.limit), more: rest.length > request.limit };
  });
  await bed.log.nc.flush();
});
afterAll(async () => {
  scheduler[Symbol.dispose]();
  await bed[Symbol.asyncDispose]();
});
beforeEach(() => {
  asked = [];
});

const get = (query: string, key: string | null): Promise<ApiAnswer> =>
  call(`${gateway.api}/queues${query}`, key);

describe('GET /queues', () => {
  it('shows an operator all organisations, in pages', async () => {
    const read: unknown[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { status, body } = await get(`?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`, operator);
      expect(status).toBe(200);
      read.push(...body.pools);
      cursor = body.next_cursor;
    }
    expect(read).toEqual(POOLS);
    expect(asked.map(({ org_id, after }) => [org_id, after])).toEqual([
      [null, null],
      [null, 'H100'],
    ]);
  });

  it('asks for one organisation and one model', async () => {
    const organisation = newUuid();
    await get(`?gpu=H100&organisation=${organisation}`, operator);
    expect(asked).toEqual([{ org_id: organisation, gpu: 'H100', after: null, limit: 20 }]);
  });

  it('shows any other key only its own organisation', async () => {
    const { org_id } = bed.tenant;
    for (const query of ['', `?organisation=${org_id}`]) expect((await get(query, reader)).status).toBe(200);
    expect(asked.map((request) => request.org_id)).toEqual([org_id, org_id]);
    const refused = await get(`?organisation=${newUuid()}`, reader);
    expect([refused.status, refused.body.detail]).toEqual([
      403,
      expect.stringContaining('lacks the scope operator'),
    ]);
    expect((await get('', null)).status).toBe(401);
    expect(asked).toHaveLength(2);
  });

  it.each(['?cursor=x', '?cursor=aDEwMA', '?limit=0', '?gpu=h%20100', '?organisation=me'])(
    'refuses %s',
    async (query) => {
      expect((await get(query, operator)).status).toBe(422);
      expect(asked).toEqual([]);
    },
  );

  it('says so when no scheduler leads, and when to ask again', async () => {
    await using alone = await openTestBed();
    const other = await alone.gateway();
    const { status, body, headers } = await call(`${other.api}/queues`, alone.tenant.key);
    expect([status, body]).toMatchObject([
      503,
      { detail: expect.stringMatching(/^No scheduler leads now/), code: 'scheduler_unavailable' },
    ]);
    expect(headers.get('retry-after')).toMatch(/^\d+$/);
  });
});
