import { join } from 'node:path';
import { jetStreamBlobStore } from '@runledger/blob-store/jetstream-blob-store';
import type { BlobStore } from '@runledger/blob-store/blob-store';
import { orgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { assigned, deleted, started, succeeded } from '@runledger/testing/run-events';
import { webhookGivenUp } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { folderInMemory } from '@runledger/testing/servers/servers-folder';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unreferencedByRuns, unreferencedWorkflows } from '../../../src/files/blobs.ts';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { deleteRecords } from '../../../src/records/catalogue/delete-records.ts';
import { clock } from '../../../src/kit.ts';
import { freshViews } from '../../../src/views/fresh-views.ts';
import { ViewsUnavailable, type RunViews } from '../../../src/views/run-views.ts';
import { archiveAll, archivedIn } from '../../archive/archived-runs.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post, postKeyed, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { forgetAll } from '../../fixtures/runs/forgotten-log.ts';
import { HOOK } from '../../fixtures/runs/notified-runs.ts';
import { factsOf, queueKeyed, queueSample, runIn } from '../../fixtures/runs/queued-runs.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { dueBehind } from '../schedules/a-schedule.ts';
import { aRunWithFile } from '../../keeping/retention/aged-runs.ts';

const LARGE = { inputs: { prompt: 'x'.repeat(6_000) } };
const ORGANISATION = 'Missed';

/** Facts left the log before the views had them. The archive has them. */
interface Scene {
  readonly bed: TestBed;
  readonly views: RunViews;
  readonly tenant: Tenant;
  /** By views that know it, it executes; it succeeded. */
  readonly ended: RunKey;
  /** By views that know it, it succeeded, with a file; it was deleted. */
  readonly gone: RunKey;
  readonly fileOfGone: string;
  /** The views do not know it; it was queued with the key `order-1` and large inputs, and its notification failed. */
  readonly keyed: RunKey;
  /** The views do not know the run of this organisation, which has not ended. */
  readonly using: Tenant;
  /** The views have no run of this organisation. One has a file. */
  readonly erased: Tenant;
  readonly fileOfErased: string;
  /** Of the large inputs. */
  readonly sha256: string;
  readonly workflow: string;
}

type TakeViews = (seen: RunViews) => RunViews;

/** `take`: those that the next gateway has. */
const aScene = async (open: AsyncDisposableStack, take: TakeViews): Promise<Scene> => {
  const bed = open.use(await openTestBed());
  const { tenant, log } = bed;
  const stale = open.use(sqliteViews());
  const [using, erased] = [await bed.newTenant(), await bed.newTenant()];
  const created_at = '2026-01-01T00:00:00.000Z';
  await catalogue(log).createOrganisation({ id: erased.org_id, name: ORGANISATION, created_at });
  const seen = await bed.gateway({ views: stale, projecting: true });
  const ended = await queueSample(seen, tenant);
  await appendAll(log, assigned(ended), started(ended));
  const { run: gone, url: fileOfGone } = await aRunWithFile(bed, seen, tenant);
  await untilCaughtUp(bed, stale);
  await seen[Symbol.asyncDispose]();

  const unseen = await bed.gateway({ views: stale });
  await appendAll(log, succeeded(ended), deleted(gone));
  const keyed = runIn(tenant, await queueKeyed(unseen, tenant, 'order-1', { ...LARGE, webhook: HOOK }));
  await appendAll(log, assigned(keyed), started(keyed), succeeded(keyed));
  await appendWebhook(log, webhookGivenUp(keyed));
  await queueSample(unseen, using);
  const { url } = await aRunWithFile(bed, unseen, erased, LARGE);
  const read = await readRun(log, keyed);
  if (read.kind !== 'found') throw new Error('the run is not in the log');
  const { inputs_blob, workflow_sha256 } = read.run.request;
  await unseen[Symbol.asyncDispose]();
  await archiveAll(log);
  await forgetAll(log);
  const files = { fileOfGone, fileOfErased: url };
  const hashes = { sha256: inputs_blob?.sha256 ?? '', workflow: workflow_sha256 };
  return { bed, views: take(stale), tenant, ended, gone, keyed, using, erased, ...files, ...hashes };
};

const untilCaughtUp = async ({ log }: TestBed, views: RunViews): Promise<void> => {
  const { state } = await log.jsm.streams.info('RUNS');
  await waitFor('the views', async () => ((await views.position())?.sequence ?? -1) >= state.last_seq);
};

const WAYS: readonly (readonly [way: string, take: TakeViews])[] = [
  ['as a copy that is older than the log', (stale) => stale],
  ['after they were emptied', () => sqliteViews()],
];

describe.each(WAYS)('views that have missed facts, %s', (_way, take) => {
  const open = new AsyncDisposableStack();
  let scene: Scene;
  let gateway: TestGateway & AsyncDisposable;
  /** Who stores equal bytes again makes another copy of them. */
  let blobs: BlobStore;
  beforeAll(async () => {
    scene = await aScene(open, take);
    blobs = jetStreamBlobStore(scene.bed.log, { stream: 'BLOBS', youngForMs: 1 });
  }, 60_000);
  afterAll(() => open.disposeAsync());

  const send = (path: string, body: object = {}): Promise<ApiAnswer> =>
    post(`${gateway.api}${path}`, scene.tenant.key, body);
  const remove = ({ run_id }: RunKey): Promise<ApiAnswer> =>
    call(`${gateway.api}/run/${run_id}`, scene.tenant.key, { method: 'DELETE' });
  const ofMany = (path: string): Promise<ApiAnswer> =>
    postKeyed(`${gateway.api}${path}`, scene.tenant.key, 'k', { filter: {} });
  const fresh = () => freshViews({ log: scene.bed.log, views: scene.views, timeoutMs: 500, clock });
  /** Of a file, at the present gateway. */
  const statusOf = async (url: string): Promise<number> => {
    const { pathname, search } = new URL(url);
    return (await fetch(`${gateway.url}${pathname}${search}`)).status;
  };
  const inputs = ({ org_id }: Tenant): Promise<Uint8Array | undefined> => blobs.get(org_id, scene.sha256);
  const failuresOfSchedules = async (): Promise<number> =>
    Number(/schedule_failures_total\S* (\d+)/.exec(await gateway.metrics.metrics())?.[1]);
  /** The copies of the large inputs of a tenant, one of which is stored now. */
  const storedAgain = async ({ org_id }: Tenant) => {
    await blobs.put(org_id, Buffer.from(JSON.stringify(LARGE.inputs)));
    const copy = await blobs.find(org_id, scene.sha256);
    if (!copy) throw new Error('these are not the inputs of the run');
    return copy;
  };
  const unreferenced = async () =>
    unreferencedByRuns(scene.views, fresh())([await storedAgain(scene.tenant)]);
  const deleteDeployment = async () => {
    const records = catalogue(scene.bed.log);
    const { org_id, deployment } = scene.using;
    await records.deployments.change(org_id, deployment.id, async (record) => ({
      kind: 'changed',
      record: { ...record, archived: true },
    }));
    return deleteRecords(scene.views, fresh(), records, async () => Date.now() + 120_000).deployment(
      orgId(org_id),
      deployment.id,
    );
  };

  describe('while the archive, which has them, cannot be read', () => {
    beforeAll(async () => {
      const { path } = open.use(await folderInMemory('missed'));
      // Its mount is missing.
      const environment = {
        RUNLEDGER_ARCHIVE: 'directory',
        RUNLEDGER_ARCHIVE_DIRECTORY: join(path, 'missing'),
      };
      gateway = await scene.bed.gateway({ views: scene.views, projecting: true, environment });
      await untilCaughtUp(scene.bed, scene.views);
    });

    it('nothing is decided about one run', async () => {
      const { bed, tenant, ended, gone, keyed } = scene;
      const before = await factsOf(bed, tenant);
      for (const answer of [
        await send(`/run/${ended.run_id}/cancel`),
        await remove(ended),
        await remove(gone),
        await send(`/run/${gone.run_id}/rerun`),
        await send(`/run/${keyed.run_id}/redeliver`),
        await queueKeyed(gateway, tenant, 'order-1', { ...LARGE, webhook: HOOK }),
      ])
        expect(answer).toMatchObject({ status: 503, body: { code: 'archive_unavailable' } });
      expect(await factsOf(bed, tenant)).toBe(before);
    });

    it.each(['/runs/cancel', '/runs/rerun', '/webhooks/redeliver'])(
      'nothing is done by %s, which could pass over runs',
      async (path) =>
        expect(await ofMany(path)).toMatchObject({ status: 503, body: { code: 'views_unavailable' } }),
    );

    it('a schedule that waits for its earlier run waits on', async () => {
      const outcome = await dueBehind(scene.bed.log, scene.tenant, scene.ended);
      const before = await failuresOfSchedules();
      await waitFor('a try', async () => (await failuresOfSchedules()) > before);
      expect(await outcome()).toBeUndefined();
    });

    it('no blob is taken for unreferenced, although equal bytes were stored after the log began', async () => {
      expect(await unreferenced()).toBeUndefined();
      const workflows = unreferencedWorkflows(
        scene.views,
        fresh(),
        async () => new Set(),
        async () => '2026-01-01T00:00:00.000Z',
      );
      const { tenant, workflow: sha256 } = scene;
      const stored = { org_id: orgId(tenant.org_id), sha256, bytes: 1, storedAt: new Date(), copy: 1 };
      expect(await workflows([stored])).toBeUndefined();
    });

    it('no record of the catalogue is deleted', async () => {
      await expect(deleteDeployment()).rejects.toThrow(ViewsUnavailable);
    });

    it('an organisation keeps its archive and its blobs, which name its files', async () => {
      const { bed, erased, fileOfErased } = scene;
      const operator = await aKey(bed.log, bed.tenant, { scopes: ['operator'] });
      const url = `${gateway.api}/organisations/${erased.org_id}`;
      expect((await call(`${url}?name=${ORGANISATION}`, operator, { method: 'DELETE' })).status).toBe(200);
      const erases = async () => (await call(`${url}/tombstone`, operator)).body.erases;
      await waitFor('a pass', async () => (await erases()).keys > 0);
      expect([await inputs(erased), await statusOf(fileOfErased)]).toEqual([expect.anything(), 200]);
      expect((await archivedIn(bed.log)).map(({ org_id }) => org_id)).toContain(erased.org_id);
    });
  });

  describe('once the archive can be read', () => {
    beforeAll(async () => {
      await gateway[Symbol.asyncDispose]();
      gateway = await scene.bed.gateway({ views: scene.views, projecting: true });
      await waitFor('complete views', async () => (await scene.views.find(scene.keyed)) !== undefined);
      await waitFor('fresh views', () => fresh().becomeFresh(scene.ended.org_id));
    }, 60_000);

    it('a run that had ended is not cancelled, and one that was deleted is not repeated', async () => {
      const { ended, gone } = scene;
      const cancelled = await send(`/run/${ended.run_id}/cancel`);
      expect(cancelled.body).toMatchObject({ status: 'success', outcome: 'already_ended' });
      expect((await send(`/run/${gone.run_id}/rerun`)).body.code).toBe('run_deleted');
      expect((await remove(gone)).body.code).toBe('run_deleted');
    });

    it('an idempotency key names its run, whose inputs are there', async () => {
      const { tenant, keyed } = scene;
      const again = await queueKeyed(gateway, tenant, 'order-1', { ...LARGE, webhook: HOOK });
      expect(runIn(tenant, again)).toEqual(keyed);
      expect(await unreferenced()).toEqual([]);
      expect(await inputs(tenant)).toBeDefined();
    });

    it('requests about many runs find those that the views had missed', async () => {
      const { body } = await send('/webhooks/redeliver', { filter: {}, dry_run: true });
      expect(body.matched).toBe(1);
      const rerun = await send('/runs/rerun', { filter: {}, dry_run: true });
      expect(rerun.body.matched).toBe(2);
    });

    it('a schedule queues its run, since the earlier one had ended', async () => {
      const outcome = await dueBehind(scene.bed.log, scene.tenant, scene.ended);
      await waitFor('the outcome', outcome);
      expect(await outcome()).toMatchObject({ outcome: 'queued' });
    });

    it('the file of a run is erased whose deletion they had missed', async () => {
      await waitFor('the file to go', async () => (await statusOf(scene.fileOfGone)) === 404);
    });

    it('a run that had ended is deleted', async () => {
      expect((await remove(scene.ended)).status).toBe(200);
    });

    it('a deployment is deleted when the run that used it has ended', async () => {
      await waitFor('the end', async () => (await deleteDeployment()).kind === 'removed');
    });

    it('the organisation is erased with the files of its runs', async () => {
      const { bed, erased, fileOfErased } = scene;
      await waitFor('the file to go', async () => (await statusOf(fileOfErased)) === 404);
      await waitFor('the inputs to go', async () => (await inputs(erased)) === undefined);
      await waitFor('the archive to go', async () =>
        (await archivedIn(bed.log)).every(({ org_id }) => org_id !== erased.org_id),
      );
    });
  });
});
