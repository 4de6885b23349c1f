import { newUuid, orgId } from '@runledger/contracts/ids';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { NumberedVersion } from '@runledger/contracts/catalogue/records';
import { aRun, cancelRequested, queued } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deleteRecords, type DeleteRecords } from '../../../src/records/catalogue/delete-records.ts';
import { catalogue, type Catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { clock } from '../../../src/kit.ts';
import { freshViews } from '../../../src/views/fresh-views.ts';
import { aLog, type TestLog } from '../../fixtures/gateway/a-log.ts';
import { aTenant, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { project } from '../../fixtures/views/a-projection.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';

const open = new AsyncDisposableStack();
let test: TestLog;
let records: Catalogue;
let deletion: DeleteRecords;
/** How long ago everything was changed. */
let laterMs = 61_000;
beforeAll(async () => {
  test = open.use(await aLog());
  const { log } = test;
  const views = open.use(sqliteViews());
  open.use(project(log, views));
  records = catalogue(log);
  const fresh = freshViews({ log, views, timeoutMs: 5_000, clock });
  deletion = deleteRecords(views, fresh, records, async () => Date.now() + laterMs);
  await waitFor('the projection', () => views.position());
});
afterAll(() => open.disposeAsync());

let tenant: Tenant;
beforeEach(async () => {
  laterMs = 61_000;
  tenant = await aTenant(test.log);
});
const org = () => orgId(tenant.org_id);
const archived = async <One>(record: One) => ({
  kind: 'changed' as const,
  record: { ...record, archived: true },
});
const archiveDeployment = () => records.deployments.change(tenant.org_id, tenant.deployment.id, archived);
const archiveMachine = () => records.machines.change(tenant.org_id, tenant.machine.id, archived);
const deleteMachine = () => deletion.machine(org(), tenant.machine.id);
const deleteDeployment = () => deletion.deployment(org(), tenant.deployment.id);
const refused = (word: RegExp, code = 'record_in_use') => ({
  kind: 'refused',
  why: { code, why: expect.stringMatching(word) },
});
const queueOne = async () => {
  const key = aRun(tenant.org_id);
  const { deployment, machine, version } = tenant;
  const names = { deployment_id: deployment.id, machine_id: machine.id, workflow_version_id: version.id };
  await appendAll(test.log, queued(key, names));
  return key;
};

describe('a record', () => {
  it('is not deleted before it has been archived for a minute', async () => {
    expect(await deleteDeployment()).toEqual(
      refused(/not archived: archive it first/, 'record_not_archived'),
    );
    await archiveDeployment();
    laterMs = 30_000;
    expect(await deleteDeployment()).toEqual(
      refused(/less than a minute ago.*try again in \d+ s/, 'record_archived_lately'),
    );
    laterMs = 61_000;
    expect(await deleteDeployment()).toEqual({ kind: 'removed' });
    expect(await deleteDeployment()).toEqual({ kind: 'none' });
    expect(await records.deployments.get(tenant.org_id, tenant.deployment.id)).toBeUndefined();
  });

  it('of another organisation does not exist', async () => {
    await archiveDeployment();
    const other = await aTenant(test.log);
    expect(await deletion.deployment(orgId(other.org_id), tenant.deployment.id)).toEqual({ kind: 'none' });
    expect(await deletion.machine(orgId(other.org_id), tenant.machine.id)).toEqual({ kind: 'none' });
    expect(await records.deployments.get(tenant.org_id, tenant.deployment.id)).toBeDefined();
  });

  it('that is restored meanwhile stays', async () => {
    await archiveDeployment();
    const restore = async <One>(record: One) => ({
      kind: 'changed' as const,
      record: { ...record, archived: false },
    });
    const removed = await records.deployments.remove(
      tenant.org_id,
      tenant.deployment.id,
      async ({ value }) => {
        if (!value.archived) return 'it was restored';
        await records.deployments.change(tenant.org_id, tenant.deployment.id, restore);
        return undefined;
      },
    );
    expect(removed).toEqual({ kind: 'refused', why: 'it was restored' });
    expect(await records.deployments.get(tenant.org_id, tenant.deployment.id)).toMatchObject({
      archived: false,
    });
  });

  it('frees its part of the quota', async () => {
    const before = await records.count(tenant.org_id);
    await archiveDeployment();
    await deleteDeployment();
    expect(await records.count(tenant.org_id)).toBe(before - 1);
  });
});

describe('a machine', () => {
  it('is deleted after the deployments that name it, archived ones too', async () => {
    await archiveDeployment();
    await archiveMachine();
    expect(await deleteMachine()).toEqual(
      refused(new RegExp(`${tenant.deployment.id}.*Delete the deployment`)),
    );
    await deleteDeployment();
    expect(await deleteMachine()).toEqual({ kind: 'removed' });
  });
});

describe('a run that has not ended', () => {
  it('keeps its deployment, its machine and its version', async () => {
    const key = await queueOne();
    await archiveDeployment();
    expect(await deleteDeployment()).toEqual(refused(new RegExp(`The run ${key.run_id}.*has not ended`)));
    await records.deployments.remove(tenant.org_id, tenant.deployment.id, async () => undefined);
    await archiveMachine();
    expect(await deleteMachine()).toEqual(refused(new RegExp(key.run_id)));
    await appendAll(test.log, cancelRequested(key));
    expect(await deleteMachine()).toEqual({ kind: 'removed' });
  });
});

describe('a version', () => {
  const addVersion = async () => {
    const { version } = tenant;
    const { id: _id, number: _number, sha256: _sha256, bytes: _bytes, ...rest } = version;
    const added = await records.versions.add({ ...rest, id: newUuid(), workflow: { kind: 'another' } });
    if (added.kind !== 'added') throw new Error('too busy');
    return added.version;
  };
  const archiveVersion = (version: NumberedVersion) => records.versions.change(version, archived);
  const firstVersion = async () => {
    const version = await records.versions.get(tenant.org_id, tenant.version.id);
    if (!version) throw new Error('there is none');
    return version;
  };

  it('is deleted after the deployments that name it, and never the newest one', async () => {
    const first = await firstVersion();
    await archiveVersion(first);
    expect(await deletion.version(first)).toEqual(
      refused(/newest one.*must not be given again/, 'newest_version'),
    );
    const second = await addVersion();
    expect(await deletion.version(first)).toEqual(refused(new RegExp(tenant.deployment.id)));
    await archiveDeployment();
    await deleteDeployment();
    expect(await deletion.version(first)).toEqual({ kind: 'removed' });
    expect(await records.versions.get(tenant.org_id, first.id)).toBeUndefined();
    expect([...(await records.versions.hashes(tenant.org_id))]).toEqual([second.sha256]);
    expect((await addVersion()).number).toBe(3);
    const { versions } = await records.versions.page(tenant.org_id, first.workflow_id, {
      limit: 10,
      archived: false,
    });
    expect(versions.map(({ number }) => number)).toEqual([3, 2]);
  });

  it('is the last one to go, with its workflow', async () => {
    const { workflow_id, org_id } = tenant.version;
    const workflow = {
      id: workflow_id,
      org_id,
      name: 'a',
      created_at: tenant.version.created_at,
      archived: true,
    };
    await records.workflows.put(workflow);
    const second = await addVersion();
    const deleteWorkflow = () => deletion.workflow(org(), workflow_id);
    expect(await deleteWorkflow()).toEqual(
      refused(/has the versions 1 and its newest one/, 'workflow_has_versions'),
    );
    await archiveDeployment();
    await deleteDeployment();
    const first = await firstVersion();
    await archiveVersion(first);
    await deletion.version(first);
    expect(await deleteWorkflow()).toEqual({ kind: 'removed' });
    expect(await records.workflows.get(org_id, workflow_id)).toBeUndefined();
    expect(await records.versions.get(org_id, second.id)).toBeUndefined();
    expect(await records.versions.count(org_id)).toBe(0);
    const left = await openBucket(test.log, 'CATALOGUE', NumberedVersion).list(`workflow_versions.${org_id}`);
    expect(left).toEqual([]);
  });
});
