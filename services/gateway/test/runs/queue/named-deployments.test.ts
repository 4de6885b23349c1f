import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Deployment } from '@runledger/contracts/catalogue/records';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import {
  aCatalogueApi,
  wrongIn,
  type CatalogueApi,
  type Client,
} from '../../records/catalogue/a-catalogue.ts';
import type { Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';
import { call, post, postKeyed, type ApiAnswer } from '../../fixtures/requests/requests.ts';

let api: CatalogueApi;
let tenant: Tenant;
let admin: Client;
/** The second version of the workflow of the sample; the sample has the first. */
let second: { readonly id: string };

beforeAll(async () => {
  api = await aCatalogueApi();
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(async () => {
  tenant = await api.bed.newTenant();
  admin = await api.admin(tenant);
  await catalogue(api.bed.log).workflows.put({
    id: tenant.deployment.workflow_id,
    org_id: tenant.org_id,
    name: 'fractal',
    archived: false,
    created_at: tenant.version.created_at,
  });
  second = await published([{ name: 'size', type: 'integer', required: true }]);
});

const published = async (inputs: readonly object[]): Promise<{ readonly id: string }> => {
  const versions = `/workflows/${tenant.deployment.workflow_id}/versions`;
  const { status, body } = await admin.post(versions, { workflow: { kind: 'fractal', v: 2 }, inputs });
  expect(status).toBe(201);
  return body;
};
const stored = async (fields: Partial<Deployment>): Promise<Deployment> => {
  const deployment = { ...tenant.deployment, id: newUuid(), ...fields };
  await catalogue(api.bed.log).deployments.put(deployment);
  return deployment;
};
const queue = (fields: object): Promise<ApiAnswer> => admin.post('/run/deployment/queue', fields);
const runOf = async (answer: ApiAnswer) => {
  expect([answer.status, answer.body]).toEqual([200, { run_id: expect.any(String) }]);
  return (await admin.get(`/run/${answer.body.run_id}`)).body;
};
const problemsOf = ({ status, body }: ApiAnswer): unknown =>
  status === 422
    ? body.detail.map(({ loc, msg }: { loc: string[]; msg: string }) => [loc.join('.'), msg])
    : status;

describe('a run that is queued by the name of its deployment', () => {
  it('is the run that its id queues', async () => {
    const gpu = await stored({ name: 'big', gpu: 'H100' });
    const [byName, byId] = [
      await runOf(await queue({ deployment: 'big' })),
      await runOf(await queue({ deployment_id: gpu.id })),
    ];
    const same = { workflow_version_id: tenant.version.id, gpu: 'H100', priority: 0, origin: 'api' };
    expect([byName, byId]).toMatchObject([same, same]);
  });

  it('has the version that the name ends with, and all else of the deployment', async () => {
    await stored({ name: 'big', gpu: 'H100', run_timeout_s: 77 });
    const run = await runOf(await queue({ deployment: 'big@2', inputs: { size: 3 } }));
    expect(run).toMatchObject({ workflow_version_id: second.id, gpu: 'H100', run_timeout_s: 77 });
    expect(await runOf(await queue({ deployment: 'big@1' }))).toMatchObject({
      workflow_version_id: tenant.version.id,
    });
    // The inputs are those of the version.
    expect(wrongIn(await queue({ deployment: 'big@2' }))).toEqual([['inputs.size', 'missing']]);
    const again = await admin.post(`/run/${run.id}/rerun`, {});
    expect(await runOf(again)).toMatchObject({ workflow_version_id: second.id });
  });

  it.each([
    ['nobody', 'deployment_not_found', 'Deployment not found'],
    ['nobody@1', 'deployment_not_found', 'Deployment not found'],
    ['sample@0', 'workflow_version_not_found', 'Workflow version not found'],
    ['sample@99', 'workflow_version_not_found', 'Workflow version not found'],
    [`sample@${'9'.repeat(100)}`, 'workflow_version_not_found', 'Workflow version not found'],
  ] as const)('is not there: %s', async (deployment, code, sentence) => {
    const { status, body } = await queue({ deployment, inputs: { size: 'not looked at' } });
    expect([status, body]).toEqual([404, aRefusal(code, sentence)]);
  });

  it('is not queued by the name of another organisation', async () => {
    const other = await api.admin(await api.bed.newTenant());
    await stored({ name: 'ours' });
    expect((await other.post('/run/deployment/queue', { deployment: 'ours' })).status).toBe(404);
    // Both have a deployment of this name.
    expect((await other.post('/run/deployment/queue', { deployment: 'sample' })).status).toBe(200);
  });

  it('is not queued by the name of archived deployments only', async () => {
    const gone = await stored({ name: 'gone', archived: true });
    for (const deployment of ['gone', 'gone@1']) {
      const { status, body } = await queue({ deployment });
      expect([status, body.code]).toEqual([404, 'deployment_archived']);
    }
    const next = await stored({ name: 'gone', gpu: 'L4' });
    expect(await runOf(await queue({ deployment: 'gone' }))).toMatchObject({ gpu: 'L4' });
    expect(next.id).not.toBe(gone.id);
  });

  it('is refused by a name that several have, with their ids', async () => {
    const twins = [await stored({ name: 'twin' }), await stored({ name: 'twin' })];
    for (const deployment of ['twin', 'twin@1']) {
      const [problem, ...others] = (await queue({ deployment })).body.detail;
      expect([problem.loc, problem.type, others]).toEqual([['body', 'deployment'], 'value_error', []]);
      for (const { id } of twins) expect(problem.msg).toContain(id);
      expect(problem.msg).toMatch(
        /^Several deployments have this name: .*Send the id of one of them as deployment_id$/,
      );
    }
  });

  it('is refused with an archived version, as a deployment is', async () => {
    await published([]);
    const path = `/workflows/${tenant.deployment.workflow_id}/versions/${second.id}`;
    expect((await admin.patch(path, { archived: true })).status).toBe(200);
    const archived = 'The workflow version is archived. Restore it, or name another';
    expect(problemsOf(await queue({ deployment: 'sample@2' }))).toEqual([['body.deployment', archived]]);
    const change = { workflow_version_id: second.id };
    expect(problemsOf(await admin.patch(`/deployments/${tenant.deployment.id}`, change))).toEqual([
      ['body.workflow_version_id', archived],
    ]);
  });

  it('prefers a name that ends like a version', async () => {
    const exact = await stored({ name: 'sample@2', gpu: 'T4' });
    expect(await runOf(await queue({ deployment: 'sample@2' }))).toMatchObject({
      gpu: 'T4',
      workflow_version_id: exact.workflow_version_id,
    });
    await stored({ name: 'me@home', gpu: 'L4' });
    expect(await runOf(await queue({ deployment: 'me@home@2', inputs: { size: 1 } }))).toMatchObject({
      gpu: 'L4',
      workflow_version_id: second.id,
    });
  });
});

describe('a request names its deployment once', () => {
  const id = () => tenant.deployment.id;
  it.each([
    ['both', () => ({ deployment_id: id(), deployment: 'sample' }), [['deployment', 'value_error']]],
    ['none', () => ({}), [['deployment_id', 'missing']]],
    ['null as the name', () => ({ deployment: null }), [['deployment_id', 'missing']]],
    ['null as the id', () => ({ deployment_id: null }), [['deployment_id', 'uuid_type']]],
    ['null as both', () => ({ deployment_id: null, deployment: null }), [['deployment_id', 'uuid_type']]],
    ['an empty name', () => ({ deployment: '' }), [['deployment', 'string_too_short']]],
    ['no text', () => ({ deployment: 5 }), [['deployment', 'string_type']]],
    [
      'none, and more',
      () => ({ gpu: 'x', priority: 'y' }),
      [
        ['deployment_id', 'missing'],
        ['gpu', 'enum'],
        ['priority', 'int_type'],
      ],
    ],
  ])('and is refused with %s', async (_what, fields, wrong) =>
    expect(wrongIn(await queue(fields()))).toEqual(wrong),
  );

  it('and null counts as left out', async () => {
    for (const named of [
      { deployment_id: id(), deployment: null },
      { deployment: 'sample', deployment_id: null },
    ])
      expect((await queue(named)).status).toBe(200);
  });
});

describe('an idempotency key of a request with a name', () => {
  it('is that of its words, whatever the name means later', async () => {
    const keyed = (fields: object) =>
      postKeyed(`${api.api}/run/deployment/queue`, tenant.key, 'order-1', { inputs: { size: 1 }, ...fields });
    const first = await runOf(await keyed({ deployment: 'sample' }));
    expect(first.workflow_version_id).toBe(tenant.version.id);
    const path = `/deployments/${tenant.deployment.id}`;
    expect((await admin.patch(path, { workflow_version_id: second.id })).status).toBe(200);
    expect(await runOf(await keyed({ deployment: 'sample' }))).toMatchObject({ id: first.id });
    await admin.patch(path, { archived: true });
    expect(await runOf(await keyed({ deployment: 'sample', deployment_id: null }))).toMatchObject({
      id: first.id,
    });
    await stored({ name: 'sample' });
    expect(await runOf(await keyed({ deployment: 'sample' }))).toMatchObject({ id: first.id });
    for (const other of [{ deployment: 'sample@1' }, { deployment_id: tenant.deployment.id }])
      expect((await keyed(other)).body.code).toBe('idempotency_key_reused');
  });
});

describe('a filter by the name of a deployment', () => {
  it('selects its runs, also of an archived one, in lists, counts and requests about many', async () => {
    const other = await stored({ name: 'other' });
    const run = await runOf(await queue({ deployment: 'other' }));
    await runOf(await queue({ deployment: 'sample' }));
    const projecting = (await api.bed.gateway({ projecting: true })).api;
    const get = (path: string) => call(`${projecting}${path}`, tenant.key);
    const idsOf = async (query: string) =>
      (await get(`/runs?${query}`)).body.runs.map((one: { id: string }) => one.id);
    expect(await idsOf('deployment=other')).toEqual([run.id]);
    expect((await get('/runs/counts?deployment=other')).body.total).toBe(1);
    await catalogue(api.bed.log).deployments.put({ ...other, archived: true });
    expect(await idsOf('deployment=other')).toEqual([run.id]);
    const many = { filter: { deployment: 'other', deployment_id: null }, dry_run: true };
    expect((await post(`${projecting}/runs/cancel`, tenant.key, many)).body.matched).toBe(1);
  });

  it('is refused for what it does not name, or several, or an id too', async () => {
    await stored({ name: 'twin' });
    await stored({ name: 'twin' });
    const wrong = (type: string) => [['deployment', type]];
    for (const query of ['nobody', 'sample@1', 'twin', `sample&deployment_id=${newUuid()}`])
      expect(wrongIn(await admin.get(`/runs?deployment=${query}`))).toEqual(wrong('value_error'));
    expect(wrongIn(await admin.get('/runs/counts?deployment='))).toEqual(wrong('string_too_short'));
    expect(wrongIn(await admin.get('/schedules?deployment=nobody'))).toEqual(wrong('value_error'));
    for (const path of ['/runs/cancel', '/runs/rerun'])
      expect(
        wrongIn(await postKeyed(`${api.api}${path}`, tenant.key, 'k', { filter: { deployment: 'nobody' } })),
      ).toEqual([['filter.deployment', 'value_error']]);
  });
});

describe('a schedule of a named deployment', () => {
  const aRequest = (fields: object) => ({ name: 'report', cron: '@daily', ...fields });
  const create = (fields: object) => admin.post('/schedules', aRequest(fields));

  it('keeps the id of the deployment, and of a version that is named', async () => {
    const { status, body } = await create({ deployment: 'sample' });
    const id = tenant.deployment.id;
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ deployment_id: id, workflow_version_id: null }),
    ]);
    expect(body).not.toHaveProperty('deployment');
    const pinned = (await create({ deployment: 'sample@2', inputs: { size: 1 } })).body;
    expect(pinned).toMatchObject({ deployment_id: id, workflow_version_id: second.id });
    expect((await admin.get('/schedules?deployment=sample')).body.schedules).toHaveLength(2);
    const changed = async (fields: object) =>
      (await admin.patch(`/schedules/${pinned.id}`, fields)).body.workflow_version_id;
    expect(await changed({ name: 'other', workflow_version_id: 'ignored' })).toBe(second.id);
    expect(await changed({ deployment: 'sample@1' })).toBe(tenant.version.id);
    expect(await changed({ deployment: null, deployment_id: null, paused: true })).toBe(tenant.version.id);
    expect(await changed({ deployment_id: id })).toBeNull();
  });

  it('is refused for what a request is refused for', async () => {
    await stored({ name: 'gone', archived: true });
    for (const [fields, wrong] of [
      [{ deployment: 'nobody' }, ['deployment', 'value_error']],
      [{ deployment: 'gone' }, ['deployment', 'value_error']],
      [{ deployment: 'sample@99' }, ['deployment', 'value_error']],
      [{ deployment: 'sample@2' }, ['inputs.size', 'missing']],
      [{ deployment: 'sample', deployment_id: tenant.deployment.id }, ['deployment', 'value_error']],
      [{}, ['deployment_id', 'missing']],
      [{ deployment_id: null }, ['deployment_id', 'uuid_type']],
    ] as const)
      expect(wrongIn(await create(fields))).toEqual([wrong]);
    const { body } = await create({ deployment: 'sample' });
    const both = { deployment: 'sample', deployment_id: tenant.deployment.id };
    expect(wrongIn(await admin.patch(`/schedules/${body.id}`, both))).toEqual([
      ['deployment', 'value_error'],
    ]);
  });
});
