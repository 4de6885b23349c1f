import { MAX_SCHEDULE_INPUTS_BYTES } from '@runledger/contracts/limits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  aCatalogueApi,
  aDeploymentWith,
  wrongIn,
  type CatalogueApi,
  type Client,
} from '../../records/catalogue/a-catalogue.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { REQUEST_DEFAULTS } from './a-schedule.ts';

let api: CatalogueApi;
let admin: Client;
beforeAll(async () => {
  api = await aCatalogueApi();
  admin = await api.admin();
});
afterAll(() => api[Symbol.asyncDispose]());

const aRequest = (fields: object = {}) => ({
  name: 'report',
  deployment_id: api.bed.tenant.deployment.id,
  cron: '0 9 * * MON-FRI',
  ...fields,
});
const created = async (fields: object = {}) => {
  const { status, body } = await admin.post('/schedules', aRequest(fields));
  expect([status, body]).toEqual([201, expect.anything()]);
  return body;
};

describe('a schedule', () => {
  it('is created with defaults, read and listed', async () => {
    const { tenant } = api.bed;
    const body = await created();
    expect(body).toEqual({
      ...aRequest(),
      id: expect.any(String),
      org_id: tenant.org_id,
      user_id: tenant.user_id,
      time_zone: 'UTC',
      day_fields: 'or',
      overlap: 'skip',
      catch_up_s: 3_600,
      paused: false,
      ...REQUEST_DEFAULTS,
      workflow_version_id: null,
      created_at: expect.any(String),
      next_times: Array.from({ length: 5 }, () => expect.stringMatching(/T09:00:00.000Z$/)),
      outcomes: [],
    });
    expect((await admin.get(`/schedules/${body.id}`)).body).toEqual(body);
    expect((await admin.get('/schedules')).body.schedules[0]).toEqual(body);
  });

  it('is found by its name and its deployment', async () => {
    const { id } = await created({ name: 'one of many' });
    const idsOf = async (query: string): Promise<string[]> =>
      (await admin.get(`/schedules?${query}`)).body.schedules.map((one: { id: string }) => one.id);
    expect(await idsOf('name=one%20of%20many')).toEqual([id]);
    expect(await idsOf(`deployment_id=${api.bed.tenant.deployment.id}&limit=1`)).toEqual([id]);
    expect(await idsOf(`deployment_id=${id}`)).toEqual([]);
  });

  it('has times of its zone', async () => {
    const { next_times } = await created({ cron: '30 9 1 7 *', time_zone: 'America/New_York' });
    expect(next_times[0]).toMatch(/-07-01T13:30:00.000Z$/);
  });

  it.each([
    [{ cron: '61 * * * *' }, [['cron', 'value_error']]],
    [{ cron: '0 0 30 2 *' }, [['cron', 'value_error']]],
    [{ cron: 'x'.repeat(300) }, [['cron', 'string_too_long']]],
    [{ time_zone: 'BST' }, [['time_zone', 'value_error']]],
    [{ day_fields: 'xor' }, [['day_fields', 'enum']]],
    [{ cron: '0 0 30 2 MON', day_fields: 'and' }, [['cron', 'value_error']]],
    [{ overlap: 'always' }, [['overlap', 'enum']]],
    [{ catch_up_s: 59 }, [['catch_up_s', 'greater_than_equal']]],
    [{ webhook: 'http://127.0.0.1/' }, [['webhook', 'value_error']]],
    [{ priority: 1_000 }, [['priority', 'less_than_equal']]],
    [{ name: ' ' }, [['name', 'string_pattern_mismatch']]],
    [{ deployment_id: '01920000-0000-7000-8000-00000000000a' }, [['deployment_id', 'value_error']]],
  ])('is refused with %j', async (fields, wrong) =>
    expect(wrongIn(await admin.post('/schedules', aRequest(fields)))).toEqual(wrong),
  );

  it('has days that fit both day fields, which a change can ask for when there are such days', async () => {
    const { next_times } = await created({ cron: '0 9 13 * FRI', day_fields: 'and' });
    expect(next_times.map((time: string) => new Date(time).getUTCDay())).toEqual([5, 5, 5, 5, 5]);
    expect(next_times.map((time: string) => new Date(time).getUTCDate())).toEqual([13, 13, 13, 13, 13]);
    const { id } = await created({ cron: '0 0 30 2 MON' });
    expect(wrongIn(await admin.patch(`/schedules/${id}`, { day_fields: 'and' }))).toEqual([
      ['cron', 'value_error'],
    ]);
    const change = { cron: '0 9 1-7 * MON', day_fields: 'and' };
    expect((await admin.patch(`/schedules/${id}`, change)).body).toMatchObject(change);
  });

  it('is refused with inputs that do not fit the version, are secret, or are too large', async () => {
    const { deployment_id } = await aDeploymentWith(admin, [
      { name: 'size', type: 'integer', required: true },
      { name: 'token', type: 'string', secret: true },
    ]);
    const withInputs = (inputs: object) => admin.post('/schedules', aRequest({ deployment_id, inputs }));
    expect(wrongIn(await withInputs({ size: 'large' }))).toEqual([['inputs.size', 'int_type']]);
    expect(wrongIn(await withInputs({ size: 1, token: 'not stored' }))).toEqual([
      ['inputs.token', 'value_error'],
    ]);
    expect((await withInputs({ size: 1, text: 'x'.repeat(MAX_SCHEDULE_INPUTS_BYTES) })).status).toBe(413);
    expect((await withInputs({ size: 1 })).status).toBe(201);
  });

  it('is refused for a version that requires a secret, with what to do instead', async () => {
    const { deployment_id } = await aDeploymentWith(admin, [
      { name: 'token', type: 'string', secret: true, required: true },
    ]);
    for (const inputs of [{}, { token: 'not stored' }]) {
      const { status, body } = await admin.post('/schedules', aRequest({ deployment_id, inputs }));
      expect([status, body.detail]).toEqual([
        422,
        [
          expect.objectContaining({
            loc: ['body', 'inputs', 'token'],
            msg: expect.stringContaining('this deployment cannot be scheduled: publish a version in which'),
          }),
        ],
      ]);
    }
  });

  it('is changed: members that are left out stay, and null gives those of its runs their defaults', async () => {
    const { id } = await created({
      inputs: { size: 1 },
      priority: 3,
      concurrency_key: 'one',
      overlap: 'allow',
    });
    const { status, body } = await admin.patch(`/schedules/${id}`, {
      priority: null,
      name: 'other',
      overlap: null,
    });
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({
        name: 'other',
        priority: 0,
        inputs: { size: 1 },
        concurrency_key: 'one',
        overlap: 'allow',
        cron: '0 9 * * MON-FRI',
      }),
    ]);
    expect(wrongIn(await admin.patch(`/schedules/${id}`, { time_zone: 'Nowhere' }))).toEqual([
      ['time_zone', 'value_error'],
    ]);
    expect((await admin.get(`/schedules/${id}`)).body).toEqual(body);
  });

  it('has no times while it is paused, also when its deployment was archived', async () => {
    const { deployment_id } = await aDeploymentWith(admin, []);
    const { id } = await created({ deployment_id });
    await admin.patch(`/deployments/${deployment_id}`, { archived: true });
    const paused = await admin.patch(`/schedules/${id}`, { paused: true });
    expect([paused.status, paused.body.paused, paused.body.next_times]).toEqual([200, true, []]);
    const resumed = await admin.patch(`/schedules/${id}`, { paused: false });
    expect(resumed.body.next_times).toHaveLength(5);
  });

  it('is deleted', async () => {
    const { id } = await created();
    expect((await admin.delete(`/schedules/${id}`)).status).toBe(204);
    expect((await admin.get(`/schedules/${id}`)).status).toBe(404);
    expect((await admin.delete(`/schedules/${id}`)).status).toBe(404);
    expect((await admin.patch(`/schedules/${id}`, { name: 'x' })).status).toBe(404);
  });

  it('does not exist for another organisation', async () => {
    const { id } = await created();
    const stranger = await api.admin(await api.bed.newTenant());
    expect((await stranger.get(`/schedules/${id}`)).status).toBe(404);
    expect((await stranger.patch(`/schedules/${id}`, { paused: true })).status).toBe(404);
    expect((await stranger.delete(`/schedules/${id}`)).status).toBe(404);
    expect((await stranger.get('/schedules')).body.schedules).toEqual([]);
  });

  it('is read by every key and changed by an admin, who alone sees the path of its webhook', async () => {
    const { id } = await created({ webhook: 'https://hooks.example/secret-path' });
    const reader = api.client(await aKey(api.bed.log, api.bed.tenant, { scopes: ['runs:write'] }));
    expect((await reader.get(`/schedules/${id}`)).body.webhook).toBe('https://hooks.example/[hidden]');
    expect((await admin.get(`/schedules/${id}`)).body.webhook).toBe('https://hooks.example/secret-path');
    expect((await reader.post('/schedules', aRequest())).status).toBe(403);
    expect((await reader.patch(`/schedules/${id}`, { paused: true })).status).toBe(403);
    expect((await reader.delete(`/schedules/${id}`)).status).toBe(403);
  });

  it('counts against the quota of its organisation', async () => {
    const small = await api.bed.gateway({ environment: { RUNLEDGER_QUOTA_SCHEDULES: '2' } });
    const tenant = await api.bed.newTenant();
    const key = await aKey(api.bed.log, tenant, { scopes: ['admin'] });
    const create = () =>
      fetch(`${small.api}/schedules`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(aRequest({ deployment_id: tenant.deployment.id })),
      });
    expect([(await create()).status, (await create()).status]).toEqual([201, 201]);
    const refused = await create();
    expect([refused.status, await refused.text()]).toEqual([
      429,
      expect.stringContaining('RUNLEDGER_QUOTA_SCHEDULES'),
    ]);
  });
});
