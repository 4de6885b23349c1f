import { isDeleted } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { assigned, deleted, started, succeeded } from '@runledger/testing/run-events';
import { webhookDelivered } from '@runledger/testing/webhook-events';
import { describeWithMongo } from '@runledger/testing/servers/mongo';
import { waitFor } from '@runledger/testing/wait-for';
import { folderInMemory } from '@runledger/testing/servers/servers-folder';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunViews } from '../../../src/views/run-views.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { forgetAll } from '../../fixtures/runs/forgotten-log.ts';
import { queueKeyed, queueSample, runIn } from '../../fixtures/runs/queued-runs.ts';
import { erasedView } from '../../fixtures/views/erased-views.ts';
import { mongoViews } from '../../fixtures/views/mongo-views.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { age, aRunWithFile, choose, FILE_BYTES, sumOf, viewAll, type RunWithFile } from './aged-runs.ts';

const HOOK = { webhook: 'https://hooks.example/done' };
/** Those of the scene that are gone, and the keyed one. */
const REMOVED_RUNS = 4;

/** One organisation chose 30 days for its runs and 10 for their files, the other one chose nothing: it has 90. */
interface Scene {
  readonly gone: readonly RunWithFile[];
  readonly kept: readonly RunWithFile[];
  readonly withoutFile: RunWithFile;
  /** Nobody was told how they ended, and the log has forgotten them. */
  readonly unsettled: readonly RunWithFile[];
  readonly othersGone: RunWithFile;
  readonly othersKept: RunWithFile;
  readonly unfinished: RunKey;
  /** All of it is erased, and the log has forgotten it. */
  readonly deleted: RunKey;
  readonly deletedInLog: RunKey;
}

const aScene = async (bed: TestBed, edge: TestGateway, other: Tenant): Promise<Scene> => {
  const { tenant, log } = bed;
  const { views } = edge;
  const aRun = (fields = {}, of = tenant) => aRunWithFile(bed, edge, of, fields);
  const [old, recent, withoutFile] = [await aRun(), await aRun(), await aRun()];
  const [othersKept, othersGone] = [await aRun({}, other), await aRun({}, other)];
  const [notified, unsettled, veryOld] = [await aRun(HOOK), await aRun(HOOK), await aRun(HOOK)];
  await appendWebhook(log, webhookDelivered(notified.run));
  const unfinished = await queueSample(edge, tenant);
  const keyed = runIn(tenant, await queueKeyed(edge, tenant, 'order-7'));
  await appendAll(log, assigned(keyed), started(keyed), succeeded(keyed));
  const files = [old, recent, withoutFile, othersKept, othersGone, notified, unsettled, veryOld];
  const erasedRun = async (): Promise<RunKey> => {
    const run = await queueSample(edge, tenant);
    await appendAll(log, assigned(run), started(run), succeeded(run), deleted(run));
    await viewAll(bed, views, [run]);
    const view = await views.find(run);
    if (view) await views.save([erasedView(view)]);
    return run;
  };
  await viewAll(bed, views, [...files.map(({ run }) => run), unfinished, keyed]);
  const deletedRun = await erasedRun();
  await forgetAll(log);
  // The log has this one, whatever its view says of its age.
  const inLog = await aRun();
  await viewAll(bed, views, [inLog.run]);
  const deletedInLog = await erasedRun();

  for (const { run } of [old, notified, unsettled, inLog, othersKept]) {
    await age(bed, views, run, { created: 40 });
  }
  await age(bed, views, keyed, { created: 31, ended: 5 });
  await age(bed, views, unfinished, { created: 200 });
  for (const { run } of [othersGone, veryOld]) await age(bed, views, run, { created: 91 });
  await age(bed, views, recent.run, { created: 29, ended: 9 });
  await age(bed, views, withoutFile.run, { created: 29, ended: 11 });
  const admin = await aKey(log, tenant, { scopes: ['admin'] });
  await choose(edge, admin, { runs_days: 30, outputs_days: 10 });
  return {
    gone: [old, notified],
    kept: [recent, inLog, unsettled, veryOld],
    withoutFile,
    unsettled: [unsettled, veryOld],
    othersGone,
    othersKept,
    unfinished,
    deleted: deletedRun,
    deletedInLog,
  };
};

const retention = (
  name: string,
  outputs: string,
  openViews: (open: AsyncDisposableStack) => Promise<RunViews>,
  gateways = 1,
): void => {
  describe(
    `what is too old, in ${name} with files in ${outputs} (gateways: ${gateways})`,
    { timeout: 60_000 },
    () => {
      const open = new AsyncDisposableStack();
      let begin: () => Promise<TestGateway & AsyncDisposable>;
      let log: EventLog;
      let all: readonly (TestGateway & AsyncDisposable)[];
      let gateway: TestGateway;
      let tenant: Tenant;
      let other: Tenant;
      let scene: Scene;
      beforeAll(async () => {
        const bed = open.use(await openTestBed());
        const { path: root } = open.use(await folderInMemory('retention'));
        const environment = { RUNLEDGER_OUTPUTS: outputs, RUNLEDGER_OUTPUTS_DIRECTORY: root };
        const views = await openViews(open);
        const edge = await bed.gateway({ views, environment });
        ({ tenant, log } = bed);
        other = await bed.newTenant();
        scene = await aScene(bed, edge, other);
        begin = () => bed.gateway({ views, environment, projecting: true });
        all = await Promise.all(Array.from({ length: gateways }, begin));
        gateway = all[0] ?? edge;
        // A view goes after the files of its run.
        await waitFor('the last file and the last view to go', async () => {
          const bytes = await sumOf(all, 'runledger_gateway_erased_file_bytes_total');
          const runs = await sumOf(all, 'runledger_gateway_removed_runs_total');
          return bytes === 7 * FILE_BYTES && runs === REMOVED_RUNS;
        });
      }, 60_000);
      afterAll(() => open.disposeAsync());

      const read = (run: RunKey, of = tenant) => call(`${gateway.api}/run/${run.run_id}`, of.key);
      const isFileThere = async ({ url }: RunWithFile): Promise<boolean> => (await fetch(url)).status === 200;

      it('goes with its files', async () => {
        for (const one of scene.gone) {
          expect([(await read(one.run)).status, await isFileThere(one)]).toEqual([404, false]);
        }
        expect((await read(scene.othersGone.run, other)).status).toBe(404);
        expect(await sumOf(all, 'runledger_gateway_removed_runs_total')).toBe(REMOVED_RUNS);
      });

      it('stays while it is young enough, its notification goes on, or the log has it', async () => {
        for (const { run } of scene.kept) expect((await read(run)).status).toBe(200);
        expect((await read(scene.othersKept.run, other)).status).toBe(200);
        expect(await isFileThere(scene.othersKept)).toBe(true);
        const { body } = await call(`${gateway.api}/runs`, tenant.key);
        const listed = body.runs.map(({ id }: { readonly id: string }) => id);
        const { kept, withoutFile, unfinished } = scene;
        const ids = [...kept, withoutFile].map(({ run }) => run.run_id);
        expect(listed.toSorted()).toEqual([...ids, unfinished.run_id].toSorted());
      });

      it('goes when it was deleted, and the log has forgotten it', async () => {
        const viewOf = (key: RunKey) => gateway.views.find(key);
        await waitFor('its view to go', async () => (await viewOf(scene.deleted)) === undefined);
        expect(await viewOf(scene.deletedInLog)).toMatchObject({ run: { status: 'deleted' } });
      });

      it('ends first when it has not ended', async () => {
        await waitFor(
          'its end',
          async () => (await read(scene.unfinished)).body.end_reason === 'log_expired',
        );
      });

      it('loses its files only, and shows them like expired ones', async () => {
        const { body } = await read(scene.withoutFile.run);
        const url = expect.stringContaining(new URL(scene.withoutFile.url).pathname);
        expect(body).toMatchObject({ status: 'success', outputs: [{ data: { files: [{ url }] } }] });
        expect(await isFileThere(scene.withoutFile)).toBe(false);
        const [recent] = scene.kept;
        expect(recent && (await isFileThere(recent))).toBe(true);
        const usedBy = async ({ key }: Tenant) =>
          (await call(`${gateway.api}/usage`, key)).body.output_bytes.used;
        expect(await usedBy(other)).toBe(FILE_BYTES);
        // Files are counted when they are erased, and the view says so a moment later.
        await waitFor('the view to have no files', async () => {
          const view = await gateway.views.find(scene.withoutFile.run);
          return view !== undefined && !isDeleted(view.run) && view.run.output_bytes === 0;
        });
      });

      it('gives its idempotency key free', async () => {
        const again = await queueKeyed(gateway, tenant, 'order-7', { origin: 'manual' });
        expect(again.status).toBe(200);
      });

      it('goes later when its notification is given up, and the log has forgotten that', async () => {
        const isGivenUp = async ({ run }: RunWithFile) => (await read(run)).body.webhook_status === 'failed';
        await waitFor('the notifications to fail', async () =>
          (await Promise.all(scene.unsettled.map(isGivenUp))).every(Boolean),
        );
        for (const each of all) await each[Symbol.asyncDispose]();
        await forgetAll(log);
        gateway = await begin();
        const isGone = async ({ run }: RunWithFile) => (await read(run)).status === 404;
        await waitFor('the runs to go', async () =>
          (await Promise.all(scene.unsettled.map(isGone))).every(Boolean),
        );
      });
    },
  );
};

retention('SQLite', 'jetstream', async (open) => open.use(sqliteViews()));
retention('SQLite', 'directory', async (open) => open.use(sqliteViews()));
describeWithMongo('with a server', { timeout: 120_000 }, () => {
  retention('MongoDB', 'jetstream', (open) => mongoViews(open), 2);
});
