import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';

let bed: TestBed;
beforeAll(async () => {
  bed = await openTestBed();
});
afterAll(() => bed[Symbol.asyncDispose]());

describe('the catalogue', () => {
  it('shows a record only to its own organisation', async () => {
    const records = catalogue(bed.log);
    const { deployment, machine, version, org_id } = bed.tenant;
    expect(await records.deployments.get(org_id, deployment.id)).toEqual(deployment);
    expect(await records.machines.get(org_id, machine.id)).toEqual(machine);
    expect(await records.versions.get(org_id, version.id)).toEqual({ ...version, archived: false });
    expect(await records.deployments.get(newUuid(), deployment.id)).toBeUndefined();
  });

  it('never changes a workflow version', async () => {
    const { version } = bed.tenant;
    const changed = { ...version, workflow: { kind: 'another' }, sha256: 'c'.repeat(64) };
    expect(await catalogue(bed.log).versions.create(changed)).toBe(false);
    expect(await catalogue(bed.log).versions.get(version.org_id, version.id)).toEqual({
      ...version,
      archived: false,
    });
  });

  it('has organisations, users and workflows', async () => {
    const records = catalogue(bed.log);
    const created_at = '2026-01-01T00:00:00.000Z';
    const organisation = { id: newUuid(), name: 'Acme', created_at };
    const user = { id: newUuid(), org_id: organisation.id, name: 'Ada', created_at };
    const workflow = { id: newUuid(), org_id: organisation.id, name: 'fractal', archived: false, created_at };
    expect(await records.createOrganisation(organisation)).toBe(true);
    expect(await records.createOrganisation(organisation)).toBe(false);
    expect(await records.createUser(user)).toBe(true);
    await records.workflows.put(workflow);
    expect(await records.getOrganisation(organisation.id)).toEqual(organisation);
    expect(await records.listOrganisations()).toEqual([organisation]);
    expect(await records.getUser(organisation.id, user.id)).toEqual(user);
    expect(await records.workflows.get(organisation.id, workflow.id)).toEqual(workflow);
  });
});
