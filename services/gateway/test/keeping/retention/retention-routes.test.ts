import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { choose } from './aged-runs.ts';

const DAY_NANOS = 86_400_000_000_000;

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const anAdmin = async () => {
  const tenant = await bed.newTenant();
  return { tenant, admin: await aKey(bed.log, tenant, { scopes: ['admin'] }) };
};
const shown = async ({ key }: Tenant) => (await call(`${gateway.api}/retention`, key)).body;

describe('the retention of an organisation', () => {
  it('is that of the installation until somebody chooses', async () => {
    const { tenant } = await anAdmin();
    expect(await shown(tenant)).toEqual({
      runs_days: { days: 90, chosen: null, least: 7, most: 90 },
      outputs_days: { days: 90, chosen: null, least: 1, most: 90 },
    });
  });

  it('changes by one member or both, and null takes the choice back', async () => {
    const [{ tenant, admin }, { tenant: other }] = [await anAdmin(), await anAdmin()];
    await choose(gateway, admin, { runs_days: 30 });
    const both = await choose(gateway, admin, { outputs_days: 3 });
    expect(both).toMatchObject({ runs_days: { days: 30 }, outputs_days: { days: 3, chosen: 3, most: 30 } });
    expect(await shown(tenant)).toEqual(both);
    await choose(gateway, admin, { runs_days: null });
    expect(await choose(gateway, admin, {})).toMatchObject({
      runs_days: { days: 90, chosen: null },
      outputs_days: { chosen: 3 },
    });
    expect((await shown(other)).outputs_days.chosen).toBeNull();
  });

  it('keeps both of two changes at once', async () => {
    const { tenant, admin } = await anAdmin();
    await Promise.all([
      choose(gateway, admin, { runs_days: 20 }),
      choose(gateway, admin, { outputs_days: 2 }),
    ]);
    expect(await shown(tenant)).toMatchObject({ runs_days: { chosen: 20 }, outputs_days: { chosen: 2 } });
  });

  it('is refused with the days that are possible, and nothing is changed', async () => {
    const { tenant, admin } = await anAdmin();
    const { detail } = await choose(gateway, admin, { runs_days: 6, outputs_days: 91 }, 422);
    expect(detail).toMatchObject([
      { loc: ['body', 'runs_days'], msg: expect.stringContaining('choose 7 or more') },
      { loc: ['body', 'outputs_days'], msg: expect.stringContaining('choose 7 or less') },
    ]);
    for (const days of [0, -1, 1.5, 10_001, '30']) await choose(gateway, admin, { runs_days: days }, 422);
    expect((await shown(tenant)).runs_days.chosen).toBeNull();
  });

  it('is chosen by an admin, and read with any key that reads runs', async () => {
    const { tenant } = await anAdmin();
    await choose(gateway, tenant.key, { runs_days: 30 }, 403);
    expect((await call(`${gateway.api}/retention`, tenant.key)).status).toBe(200);
  });

  it('is as long as the log keeps facts, and shows what was chosen', async () => {
    const { tenant, admin } = await anAdmin();
    await choose(gateway, admin, { runs_days: 10, outputs_days: 9 });
    const { config } = await bed.log.jsm.streams.info('RUNS');
    const set = (days: number) => bed.log.jsm.streams.update('RUNS', { max_age: days * DAY_NANOS });
    await set(20);
    expect(await shown(tenant)).toEqual({
      runs_days: { days: 20, chosen: 10, least: 20, most: 90 },
      outputs_days: { days: 9, chosen: 9, least: 1, most: 20 },
    });
    await set(0);
    expect((await shown(tenant)).runs_days).toEqual({ days: null, chosen: 10, least: null, most: 90 });
    await bed.log.jsm.streams.update('RUNS', { max_age: config.max_age });
  });
});
