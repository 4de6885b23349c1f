import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { call, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { aCatalogueApi, aMachine, type CatalogueApi, type Client } from './a-catalogue.ts';

let catalogue: CatalogueApi;
let admin: Client;
beforeAll(async () => {
  catalogue = await aCatalogueApi();
  admin = await catalogue.admin();
});
afterAll(() => catalogue[Symbol.asyncDispose]());

const check = (plan: object) => admin.post('/deployments/check', plan);
/** Where a request is wrong. */
const placesIn = async (answer: Promise<ApiAnswer>): Promise<unknown[]> => {
  const { status, body } = await answer;
  expect(status).toBe(422);
  return body.detail.map(({ loc }: { loc: unknown[] }) => loc);
};
const NEW = { name: 'shop', workflow: { steps: 3 }, machine: aMachine };
const INPUTS = [{ name: 'seed', type: 'integer' }];

describe('the check of a deployment', () => {
  it('passes what can be made, and stores nothing', async () => {
    const used = async () => (await admin.get('/usage')).body.catalogue_records.used;
    const before = await used();
    const { machine, version, deployment } = catalogue.bed.tenant;
    const there = { machine_id: machine.id.toUpperCase(), workflow_version_id: version.id };
    for (const plan of [
      NEW,
      { ...NEW, inputs: INPUTS, log_masks: ['a+'], gpu: null },
      { name: 'shop', ...there },
      { deployment_id: deployment.id, weight: 2, machine: aMachine, ...there },
    ])
      expect([(await check(plan)).status, await used()]).toEqual([204, before]);
  });

  it.each([
    [
      'a workflow of the editor',
      { workflow: { nodes: [], links: [], last_node_id: 0 } },
      ['body', 'workflow', 'nodes'],
    ],
    ['a definition', { inputs: [{ name: 'seed', type: 'integer', mni: 1 }] }, ['body', 'inputs', 0, 'mni']],
    ['a machine', { machine: { ...aMachine, gpu: '' } }, ['body', 'machine', 'gpu']],
    ['a mask', { log_masks: ['('] }, ['body', 'log_masks', 0]],
    ['an unknown machine', { machine_id: newUuid() }, ['body', 'machine_id']],
    ['an unknown version', { workflow_version_id: newUuid() }, ['body', 'workflow_version_id']],
    ['no name', { name: null }, ['body', 'name']],
  ])('refuses %s', async (_what, wrong, place) => {
    expect(await placesIn(check({ ...NEW, ...wrong }))).toEqual([place]);
  });

  it('refuses a change by the present state of what it names', async () => {
    const { deployment } = catalogue.bed.tenant;
    const machine = (await admin.post('/machines', aMachine)).body.id;
    await admin.patch(`/machines/${machine}`, { archived: true });
    const places = await placesIn(check({ deployment_id: deployment.id, machine_id: machine }));
    expect(places).toEqual([['body', 'machine_id']]);
    expect((await check({ ...NEW, deployment_id: newUuid() })).status).toBe(404);
  });

  it('refuses more records than the organisation may still have', async () => {
    const { bed } = catalogue;
    const used = (await admin.get('/usage')).body.catalogue_records.used;
    const small = await bed.gateway({
      environment: { RUNLEDGER_QUOTA_CATALOGUE_RECORDS: String(used + 3) },
    });
    const key = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
    const checked = (plan: object) =>
      call(`${small.api}/deployments/check`, key, {
        method: 'POST',
        body: JSON.stringify(plan),
        headers: { 'content-type': 'application/json' },
      });
    const refused = await checked(NEW);
    expect([refused.status, refused.body.code]).toEqual([429, 'quota_reached']);
    expect(refused.body.detail).toContain('needs 4 more');
    const { workflow_id } = bed.tenant.version;
    expect((await checked({ ...NEW, workflow_id })).status).toBe(204);
  });
});
