import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aFleet, anExecutor, type AFleet } from '../../fixtures/gateway/a-fleet.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

const VERSION = newUuid();
const placement = { candidates: 2, choice: 'warm', waited_s: 12.5 } as const;
const RUN = {
  org_id: newUuid(),
  run_id: newUuid(),
  attempt: 1,
  assigned_at: '2026-05-01T12:00:01.000Z',
  placement,
};
const SHOWN_PLACEMENT = {
  ...placement,
  gpu_index: null,
  warm_wait_s: null,
  held_back_by: null,
  sentence: 'after 12.5 s, one of 2 free slots, which has its version loaded',
};
const north = anExecutor('north', {
  slots: [
    { slot: 0, gpu: 'A10G', loaded_workflow_version_id: VERSION, run: RUN },
    { slot: 1, gpu: 'H100', loaded_workflow_version_id: null, run: null },
  ],
});
const shownNorth = {
  ...north,
  slots: [{ ...north.slots[0], run: { ...RUN, placement: SHOWN_PLACEMENT } }, north.slots[1]],
};
const west = anExecutor('west', { executor_id: 'west.boot1' });
const westAgain = anExecutor('west', { executor_id: 'west.boot2', state: 'unresponsive' });

let bed: TestBed;
let gateway: TestGateway;
let fleet: AFleet;
let key: string;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
  fleet = await aFleet(bed.log, anExecutor('east'), north, west, westAgain);
  key = await aKey(bed.log, bed.tenant, { scopes: ['operator'] });
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

const get = (path: string, as = key): Promise<ApiAnswer> => call(`${gateway.api}${path}`, as);
const ask = (path: string, as: string | null = key): Promise<ApiAnswer> =>
  call(`${gateway.api}${path}`, as, { method: 'POST' });

describe('GET /executors', () => {
  it('lists the executors that the scheduler knows, in pages, also within a name', async () => {
    const read: unknown[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { status, body } = await get(`/executors?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`);
      expect(status).toBe(200);
      read.push(...body.executors);
      cursor = body.next_cursor;
    }
    expect(read).toEqual([anExecutor('east'), shownNorth, west, westAgain]);
  });

  it.each(['cursor=x', 'cursor=bm9ydGg', 'limit=0', 'limit=101'])('refuses %s', async (query) => {
    expect((await get(`/executors?${query}`)).status).toBe(422);
  });
});

describe('GET /executors/{name}', () => {
  it('returns all executors with the name', async () => {
    const { status, body } = await get('/executors/west');
    expect([status, body]).toEqual([200, { name: 'west', executors: [west, westAgain] }]);
  });

  it('answers 404 for an unknown name, and 422 for an invalid one', async () => {
    const unknown = await get('/executors/south');
    expect([unknown.status, unknown.body]).toEqual([
      404,
      aRefusal('executor_not_found', 'Executor not found'),
    ]);
    const none = await get('/executors/a%20b');
    expect([none.status, none.body.detail[0].loc]).toEqual([422, ['path', 'name']]);
  });
});

describe('POST /executors/{name}/drain and /resume', () => {
  it('respond when the scheduler shows the state, with the present runs, and may be repeated', async () => {
    for (const draining of [true, true, false, false]) {
      const { status, body } = await ask(`/executors/north/${draining ? 'drain' : 'resume'}`);
      expect([status, body]).toEqual([200, { name: 'north', draining, runs: 1 }]);
      const { executors } = (await get('/executors/north')).body;
      expect(executors).toMatchObject([{ state: draining ? 'draining' : 'ready' }]);
    }
    const [first] = fleet.requests;
    const [{ id }] = (await call(`${gateway.api}/api-keys`, bed.tenant.key)).body.api_keys.filter(
      ({ scopes }: { scopes: string[] }) => scopes.includes('operator'),
    );
    expect(first).toEqual({
      type: 'ExecutorDrainRequested',
      version: 1,
      event_id: expect.any(String),
      executor_name: 'north',
      requested_by: id,
      time: expect.stringMatching(/Z$/),
    });
  });

  it('return the state of the last stored request to concurrent callers', async () => {
    const stored = async (): Promise<number> => (await bed.log.jsm.streams.info('FLEET')).state.last_seq;
    const before = await stored();
    const goOn = fleet.holdReading();
    const asked = Promise.all([ask('/executors/east/drain'), ask('/executors/east/resume')]);
    await waitFor('both to be stored', async () => (await stored()) === before + 2);
    goOn();
    const answers = await asked;
    const draining = fleet.requests.at(-1)?.type === 'ExecutorDrainRequested';
    for (const { status, body } of answers) {
      expect([status, body]).toEqual([200, { name: 'east', draining, runs: 0 }]);
    }
  });

  it.each(['drain', 'resume'])('store nothing for %s of an unknown name', async (what) => {
    const before = fleet.requests.length;
    const { status, body } = await ask(`/executors/south/${what}`);
    expect([status, body]).toEqual([404, aRefusal('executor_not_found', 'Executor not found')]);
    // All that is stored is read in order.
    await ask('/executors/east/resume');
    expect(fleet.requests.slice(before)).toMatchObject([{ executor_name: 'east' }]);
  });
});

describe('the fleet', () => {
  const operations = [
    ['GET', '/executors'],
    ['GET', '/executors/east'],
    ['POST', '/executors/east/drain'],
    ['POST', '/executors/east/resume'],
  ] as const;
  const holders: readonly KeyScope[][] = [['runs:read'], ['runs:write'], ['admin'], ['runs:write', 'admin']];
  const table = operations.flatMap(([method, path]) =>
    holders.map((scopes) => ({ method, path, scopes: scopes.join(' and '), holders: scopes })),
  );

  it.each(table)('refuses a key with $scopes: $method $path', async ({ method, path, holders: scopes }) => {
    const other = await aKey(bed.log, bed.tenant, { scopes });
    const { status, body } = await call(`${gateway.api}${path}`, other, { method });
    expect([status, body]).toEqual([403, aRefusal('scope_missing', 'This API key lacks the scope operator')]);
  });

  it.each(operations)(
    'refuses a request without a key, and accepts an operator: %s %s',
    async (method, path) => {
      expect((await call(`${gateway.api}${path}`, null, { method })).status).toBe(401);
      expect((await call(`${gateway.api}${path}`, key, { method })).status).toBe(200);
    },
  );

  it('is all that the scope operator permits', async () => {
    for (const path of ['/runs', `/run/${newUuid()}/waiting`, '/machines', '/api-keys']) {
      expect([path, (await get(path)).status]).toEqual([path, 403]);
    }
  });

  it('counts against the rate of the key', async () => {
    const slow = await bed.gateway({ environment: { RUNLEDGER_RATE_LIMIT: '1' } });
    const other = await aKey(bed.log, bed.tenant, { scopes: ['operator'] });
    const statuses = [];
    for (let asked = 0; asked < 3; asked += 1) {
      statuses.push((await call(`${slow.api}/executors`, other)).status);
    }
    expect(statuses).toContain(429);
  });
});

describe('while no scheduler leads', () => {
  it.each(['GET /executors', 'GET /executors/east', 'POST /executors/east/drain'])(
    '%s says so and when to ask again, and stores nothing',
    async (line) => {
      await using alone = await openTestBed();
      const other = await alone.gateway();
      const operator = await aKey(alone.log, alone.tenant, { scopes: ['operator'] });
      const [method = '', path = ''] = line.split(' ');
      const { status, body, headers } = await call(`${other.api}${path}`, operator, { method });
      expect([status, body.detail]).toEqual([503, expect.stringMatching(/^No scheduler leads now/)]);
      expect(headers.get('retry-after')).toMatch(/^\d+$/);
      expect((await alone.log.jsm.streams.info('FLEET')).state.messages).toBe(0);
    },
  );
});
