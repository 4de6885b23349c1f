import { openBlobStores, type BlobStores } from '@runledger/blob-store/blob-stores';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import { orgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { aRun, assigned, deleted, queued, started, succeeded } from '@runledger/testing/run-events';
import { redeliveryRequested, webhookGivenUp } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eraseBlobs, unreferencedByRuns, unreferencedWorkflows } from '../../../src/files/blobs.ts';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { deleteRecords } from '../../../src/records/catalogue/delete-records.ts';
import { clock } from '../../../src/kit.ts';
import { freshViews } from '../../../src/views/fresh-views.ts';
import { ViewsUnavailable } from '../../../src/views/run-views.ts';
import { eraseOldFiles, removeOldRuns } from '../../../src/keeping/retention.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post, postKeyed, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { HOOK } from '../../fixtures/runs/notified-runs.ts';
import { factsOf, queueKeyed, queueSample, runIn } from '../../fixtures/runs/queued-runs.ts';
import { heldViews, type HeldViews } from '../../fixtures/views/held-views.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { dueBehind } from '../schedules/a-schedule.ts';
import { aRunWithFile } from '../../keeping/retention/aged-runs.ts';
import { aKit } from '../../fixtures/gateway/a-kit.ts';

const DAY_MS = 86_400_000;
const TOMORROW = new Date(Date.now() + DAY_MS);

let bed: TestBed;
let held: HeldViews;
let gateway: TestGateway;
let tenant: Tenant;
beforeAll(async () => {
  bed = await openTestBed();
  held = heldViews(sqliteViews());
  gateway = await bed.gateway({ views: held.views, projecting: true });
});
afterAll(() => bed[Symbol.asyncDispose]());
beforeEach(async () => {
  tenant = await bed.newTenant();
});
afterEach(() => held.release());

const hold = (): Promise<void> => held.hold(bed.log);
const send = (path: string, body: object = {}): Promise<ApiAnswer> =>
  post(`${gateway.api}${path}`, tenant.key, body);
const aRunningOne = async (fields: object = {}): Promise<RunKey> => {
  const run = await queueSample(gateway, tenant, fields);
  await appendAll(bed.log, assigned(run), started(run));
  return run;
};
const anEndedOne = async (fields: object = {}): Promise<RunKey> => {
  const run = await aRunningOne(fields);
  await appendAll(bed.log, succeeded(run));
  return run;
};
const VIEWS_BEHIND = { status: 503, body: { code: 'views_unavailable' } };
/** Nothing is stored meanwhile. */
const storesNothing = async (work: () => Promise<unknown>): Promise<void> => {
  const before = await factsOf(bed, tenant);
  await work();
  expect(await factsOf(bed, tenant)).toBe(before);
};

describe('while the views are behind, of one run', () => {
  it('a cancellation decides on what the log has', async () => {
    const run = await aRunningOne();
    await hold();
    await appendAll(bed.log, succeeded(run));
    const unseen = await queueSample(gateway, tenant);
    expect((await send(`/run/${run.run_id}/cancel`)).body).toMatchObject({
      status: 'success',
      outcome: 'already_ended',
    });
    expect((await send(`/run/${unseen.run_id}/cancel`)).body.outcome).toBe('cancelled');
  });

  it('a deletion finds the end, and another deletion', async () => {
    const [ended, gone] = [await aRunningOne(), await anEndedOne()];
    await hold();
    await appendAll(bed.log, succeeded(ended), deleted(gone));
    const remove = ({ run_id }: RunKey) =>
      call(`${gateway.api}/run/${run_id}`, tenant.key, { method: 'DELETE' });
    expect((await remove(ended)).status).toBe(200);
    await storesNothing(async () => {
      for (const run of [ended, gone])
        expect(await remove(run)).toMatchObject({ status: 404, body: { code: 'run_deleted' } });
    });
  });

  it('a rerun repeats no run that was deleted', async () => {
    const [gone, ended] = [await anEndedOne(), await aRunningOne()];
    await hold();
    await appendAll(bed.log, deleted(gone), succeeded(ended));
    await storesNothing(async () =>
      expect((await send(`/run/${gone.run_id}/rerun`)).body.code).toBe('run_deleted'),
    );
    expect((await send(`/run/${ended.run_id}/rerun`)).status).toBe(200);
  });

  it('a redelivery begins the round after the last one, and none of a deleted run', async () => {
    const [run, gone] = [await anEndedOne({ webhook: HOOK }), await anEndedOne({ webhook: HOOK })];
    for (const one of [run, gone]) await appendWebhook(bed.log, webhookGivenUp(one));
    await hold();
    await appendWebhook(bed.log, redeliveryRequested(run), webhookGivenUp(run, 2));
    await appendAll(bed.log, deleted(gone));
    expect((await send(`/run/${run.run_id}/redeliver`)).body).toMatchObject({ round: 3 });
    expect((await send(`/run/${gone.run_id}/redeliver`)).body.code).toBe('run_deleted');
  });

  it('an idempotency key queues one run', async () => {
    await hold();
    const run = runIn(tenant, await queueKeyed(gateway, tenant, 'order-1'));
    await storesNothing(async () => {
      expect(runIn(tenant, await queueKeyed(gateway, tenant, 'order-1'))).toEqual(run);
      const other = await queueKeyed(gateway, tenant, 'order-1', { inputs: { size: 2 } });
      expect(other.status).toBe(409);
    });
  });

  it('a schedule waits for an earlier run that has not ended, and for no other', async () => {
    const ended = await aRunningOne();
    await hold();
    await appendAll(bed.log, succeeded(ended));
    const unseen = await queueSample(gateway, tenant);
    const outcomeBehind = async (run: RunKey) => {
      const outcome = await dueBehind(bed.log, tenant, run);
      await waitFor('the outcome', outcome);
      return outcome();
    };
    expect(await outcomeBehind(ended)).toMatchObject({ outcome: 'queued' });
    expect(await outcomeBehind(unseen)).toMatchObject({ outcome: 'skipped', run_id: unseen.run_id });
  });
});

describe('while the views are behind, of many runs', () => {
  it.each([
    ['a cancellation', '/runs/cancel'],
    ['a rerun', '/runs/rerun'],
    ['a redelivery', '/webhooks/redeliver'],
  ])('%s is refused, instead of saying that the others were all', async (_what, path) => {
    await hold();
    const unseen = await anEndedOne({ webhook: HOOK });
    await appendWebhook(bed.log, webhookGivenUp(unseen));
    await queueSample(gateway, tenant);
    await storesNothing(async () => {
      const answer = await postKeyed(`${gateway.api}${path}`, tenant.key, 'k', { filter: {} });
      expect(answer).toMatchObject(VIEWS_BEHIND);
    });
    held.release();
    await waitFor('views that have them', async () => (await held.views.find(unseen)) !== undefined);
    const { status, body } = await postKeyed(`${gateway.api}${path}`, tenant.key, 'k', { filter: {} });
    expect([status, body.matched]).toEqual([200, 1]);
  });
});

describe('while the views are behind', () => {
  const stop = new AbortController().signal;
  let stores: BlobStores;
  beforeAll(() => {
    stores = openBlobStores(bed.log);
  });
  const fresh = () => freshViews({ log: bed.log, views: held.views, timeoutMs: 500, clock });

  it('the retention removes no run of which the log has anything', async () => {
    const [ended, running] = [await anEndedOne(), await aRunningOne()];
    await hold();
    await appendAll(bed.log, succeeded(running));
    const org_id = orgId(tenant.org_id);
    let erased = 0;
    const kit = aKit({ log: bed.log, views: held.views });
    const round = { erase: async () => (erased += 1), stop };
    await removeOldRuns(kit, round, { org_id, createdBefore: TOMORROW });
    await eraseOldFiles(kit, round, { org_id, endedBefore: TOMORROW });
    expect(erased).toBe(0);
    for (const run of [ended, running]) expect(await held.views.find(run)).toBeDefined();
  });

  it('the files of a deleted run are erased later, and its tombstone says so', async () => {
    const { run, url } = await aRunWithFile(bed, gateway, tenant);
    await hold();
    const path = `${gateway.api}/run/${run.run_id}`;
    expect((await call(path, tenant.key, { method: 'DELETE' })).status).toBe(200);
    const state = async () => (await call(`${path}/tombstone`, tenant.key)).body.state;
    expect([await state(), (await fetch(url)).status]).toEqual(['erasing', 200]);
    held.release();
    await waitFor('the erasure', async () => (await state()) === 'erased');
    expect((await fetch(url)).status).toBe(404);
  });

  it('no blob is erased, since a run may refer to it', async () => {
    const { blobs } = stores;
    const org_id = orgId(tenant.org_id);
    await hold();
    const ref = await blobs.put(org_id, jsonBlob({ prompt: 'x'.repeat(5_000) }));
    const unseen = queued(aRun(tenant.org_id), { inputs: null, inputs_blob: ref });
    await appendAll(bed.log, unseen);
    const unreferenced = unreferencedByRuns(held.views, fresh());
    const erase = eraseBlobs(blobs, unreferenced, () => undefined);
    expect(await erase(org_id, [ref])).toBe(false);
    expect(await blobs.get(org_id, ref.sha256)).toBeDefined();
    const workflows = unreferencedWorkflows(
      held.views,
      fresh(),
      async () => new Set(),
      async () => '2026-01-01T00:00:00.000Z',
    );
    const sha256 = unseen.data.workflow_sha256;
    expect(await workflows([{ org_id, sha256, bytes: 1, storedAt: new Date(), copy: 1 }])).toBeUndefined();
  });

  it('no record of the catalogue is deleted, since a run may use it', async () => {
    const records = catalogue(bed.log);
    const { org_id, deployment } = tenant;
    await hold();
    await queueSample(gateway, tenant);
    await records.deployments.change(org_id, deployment.id, async (record) => ({
      kind: 'changed',
      record: { ...record, archived: true },
    }));
    const deletion = deleteRecords(held.views, fresh(), records, async () => TOMORROW.getTime());
    await expect(deletion.deployment(orgId(org_id), deployment.id)).rejects.toThrow(ViewsUnavailable);
    expect(await records.deployments.get(org_id, deployment.id)).toBeDefined();
  });

  it('an organisation keeps what its runs may name, until all of them are deleted', async () => {
    const operator = await aKey(bed.log, bed.tenant, { scopes: ['operator'] });
    const { org_id, key } = tenant;
    const name = 'Behind';
    await catalogue(bed.log).createOrganisation({ id: org_id, name, created_at: TOMORROW.toISOString() });
    await hold();
    const unseen = await queueSample(gateway, tenant, { inputs: { prompt: 'x'.repeat(6_000) } });
    const read = await readRun(bed.log, unseen);
    const sha256 = read.kind === 'found' ? read.run.request.inputs_blob?.sha256 : undefined;
    const inputs = () => stores.blobs.get(org_id, sha256 ?? '');
    const url = `${gateway.api}/organisations/${org_id}`;
    expect((await call(`${url}?name=${name}`, operator, { method: 'DELETE' })).status).toBe(200);
    const erases = async () => (await call(`${url}/tombstone`, operator)).body.erases;
    await waitFor('the first pass', async () => (await erases()).keys > 0);
    expect((await call(`${gateway.api}/runs`, key)).status).toBe(401);
    expect(await erases()).toMatchObject({ runs: 0 });
    expect(await inputs()).toBeDefined();
    held.release();
    await waitFor('the deletion of its run', async () => (await erases()).runs === 1);
    await waitFor('the erasure', async () => (await inputs()) === undefined);
    expect(await readRun(bed.log, unseen)).toMatchObject({ kind: 'deleted' });
  });
});
