import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authenticate, createApiKey } from '../../src/catalogue/api-keys.ts';
import { catalogue } from '../../src/catalogue/catalogue.ts';
import { aWorld, type World } from '../fixtures/a-gateway.ts';

let world: World;
beforeAll(async () => {
  world = await aWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
const wish = () => ({ org_id: newUuid(), user_id: newUuid(), name: 'laptop' });

describe('an API key', () => {
  it('is found by itself', async () => {
    const { record, key } = await createApiKey(world.log, wish());
    expect(await authenticate(world.log, key)).toEqual(record);
    expect(record).toMatchObject({ scopes: ['runs:write'], expires_at: null, prefix: key.slice(0, 8) });
    expect(await authenticate(world.log, `${key}x`)).toBeUndefined();
  });

  it('may be chosen, and is found again by the same user only', async () => {
    const owner = wish();
    const key = `chosen-key-${newUuid()}`;
    const first = await createApiKey(world.log, { ...owner, key });
    expect(await createApiKey(world.log, { ...owner, key })).toEqual(first);
    await expect(createApiKey(world.log, { ...wish(), key })).rejects.toThrow('belongs to another user');
  });

  it('is long enough and has no spaces', async () => {
    for (const key of ['short', 'with a space in it', 'ü'.repeat(20), '']) {
      await expect(createApiKey(world.log, { ...wish(), key })).rejects.toThrow(TypeError);
      expect(await authenticate(world.log, key)).toBeUndefined();
    }
  });
});

describe('the catalogue', () => {
  it('keeps the records of an organisation apart', async () => {
    const records = catalogue(world.log);
    const { deployment, machine, version, org_id } = world.tenant;
    expect(await records.getDeployment(org_id, deployment.id)).toEqual(deployment);
    expect(await records.getMachine(org_id, machine.id)).toEqual(machine);
    expect(await records.getWorkflowVersion(org_id, version.id)).toEqual(version);
    expect(await records.listDeployments(org_id)).toEqual([deployment]);
    expect(await records.getDeployment(newUuid(), deployment.id)).toBeUndefined();
  });

  it('never changes a workflow version', async () => {
    const records = catalogue(world.log);
    const { version } = world.tenant;
    expect(await records.createWorkflowVersion({ ...version, sha256: 'c'.repeat(64) })).toBe(false);
    expect(await records.getWorkflowVersion(version.org_id, version.id)).toEqual(version);
  });

  it('has organisations, users and workflows', async () => {
    const records = catalogue(world.log);
    const created_at = '2026-01-01T00:00:00.000Z';
    const organisation = { id: newUuid(), name: 'Acme', created_at };
    const user = { id: newUuid(), org_id: organisation.id, name: 'Ada', created_at };
    const workflow = { id: newUuid(), org_id: organisation.id, name: 'fractal', created_at };
    expect(await records.createOrganisation(organisation)).toBe(true);
    expect(await records.createOrganisation(organisation)).toBe(false);
    expect(await records.createUser(user)).toBe(true);
    await records.putWorkflow(workflow);
    expect(await records.getOrganisation(organisation.id)).toEqual(organisation);
    expect(await records.listOrganisations()).toEqual([organisation]);
    expect(await records.getUser(organisation.id, user.id)).toEqual(user);
    expect(await records.getWorkflow(organisation.id, workflow.id)).toEqual(workflow);
  });
});
