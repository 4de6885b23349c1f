import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aKey, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { aCatalogueApi, aMachine, type CatalogueApi, type Client } from './a-catalogue.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let catalogue: CatalogueApi;
let other: Tenant;
let own: Client;
let foreign: Client;
let workflowId: string;
beforeAll(async () => {
  catalogue = await aCatalogueApi();
  other = await catalogue.bed.newTenant();
  own = await catalogue.admin();
  foreign = await catalogue.admin(other);
  workflowId = (await foreign.post('/workflows', { name: 'theirs' })).body.id;
});
afterAll(() => catalogue[Symbol.asyncDispose]());

describe("another organisation's record", () => {
  it.each([
    ['Machine', (id: string) => `/machines/${id}`, () => other.machine.id],
    ['Workflow', (id: string) => `/workflows/${id}`, () => workflowId],
    [
      'Workflow version',
      (id: string) => `/workflows/${other.version.workflow_id}/versions/${id}`,
      () => other.version.id,
    ],
    ['Deployment', (id: string) => `/deployments/${id}`, () => other.deployment.id],
  ])('looks like an unknown one: %s', async (what, at, idOf) => {
    const theirs = at(idOf());
    expect((await foreign.get(theirs)).status).toBe(200);
    const code = `${what.toLowerCase().replace(' ', '_')}_not_found`;
    const unknown = { status: 404, body: { detail: `${what} not found`, code } };
    for (const path of [theirs, at(newUuid())]) {
      expect(await own.get(path)).toMatchObject(unknown);
      expect(await own.patch(path, { archived: true })).toMatchObject(unknown);
    }
    expect((await foreign.get(theirs)).body.archived).toBe(false);
  });

  it('has no versions for other organisations, and accepts none from them', async () => {
    for (const id of [workflowId, newUuid()]) {
      const unknown = {
        status: 404,
        body: { detail: 'Workflow not found', code: 'workflow_not_found' },
      };
      expect(await own.get(`/workflows/${id}/versions`)).toMatchObject(unknown);
      expect(await own.post(`/workflows/${id}/versions`, { workflow: {} })).toMatchObject(unknown);
    }
  });

  it('is in no list of another organisation', async () => {
    await foreign.post('/machines', aMachine);
    for (const list of ['machines', 'workflows', 'deployments']) {
      const { body } = await own.get(`/${list}`);
      expect(body[list].map((record: { org_id: string }) => record.org_id)).not.toContain(other.org_id);
    }
  });

  it('cannot be deployed, and is refused like an unknown one', async () => {
    const { machine, version } = catalogue.bed.tenant;
    const mine = { name: 'mine', machine_id: machine.id, workflow_version_id: version.id };
    const refusals = [
      { ...mine, machine_id: other.machine.id },
      { ...mine, machine_id: newUuid() },
      { ...mine, workflow_version_id: other.version.id },
      { ...mine, workflow_version_id: newUuid() },
    ].map((request) => own.post('/deployments', request));
    const [machine1, machine2, version1, version2] = await Promise.all(refusals);
    expect(machine1?.status).toBe(422);
    expect(machine1?.body).toEqual(aRefusal('invalid_request', machine2?.body.detail));
    expect(version1?.status).toBe(422);
    expect(version1?.body).toEqual(aRefusal('invalid_request', version2?.body.detail));
  });
});

describe('a key', () => {
  it.each([
    ['reads the catalogue', ['runs:read'] as const],
    ['reads it also when it may queue', ['runs:write'] as const],
  ])('is refused without admin: %s, and writes nothing', async (_what, scopes) => {
    const { bed } = catalogue;
    const client = catalogue.client(await aKey(bed.log, bed.tenant, { scopes: [...scopes] }));
    const { machine, deployment, version } = bed.tenant;
    const versionPath = `/workflows/${version.workflow_id}/versions/${version.id}`;
    for (const path of ['/machines', '/workflows', '/deployments']) {
      expect((await client.get(path)).status).toBe(200);
      expect((await client.post(path, {})).status).toBe(403);
    }
    expect((await client.post(`/workflows/${version.workflow_id}/versions`, {})).status).toBe(403);
    for (const path of [`/machines/${machine.id}`, `/deployments/${deployment.id}`, versionPath]) {
      expect((await client.get(path)).status).toBe(200);
      expect((await client.patch(path, { archived: true })).status).toBe(403);
    }
    expect((await client.patch(`/workflows/${newUuid()}`, {})).status).toBe(403);
  });
});
