import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { folderInMemory } from '@runledger/testing/servers/servers-folder';
import { expect, it } from 'vitest';
import type { Tenant } from '../fixtures/gateway/a-tenant.ts';
import { openTestBed } from '../fixtures/gateway/test-bed.ts';
import { call, post } from '../fixtures/requests/requests.ts';
import { appendAll } from '../fixtures/runs/appended-facts.ts';
import { forgetAll } from '../fixtures/runs/forgotten-log.ts';
import { queueKeyed } from '../fixtures/runs/queued-runs.ts';
import { archiveAll, archivedUpTo, objectsOf, ARCHIVES_AT_ONCE } from './archived-runs.ts';

/** Where archived runs are, without what is being written. */
const filesIn = async (root: string): Promise<string[]> => {
  const all = await readdir(root, { recursive: true, withFileTypes: true });
  return all
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('incoming'))
    .map(({ parentPath, name }) => join(parentPath, name));
};

const damage = async (file: string): Promise<void> => {
  const bytes = await readFile(file);
  await writeFile(file, bytes.toReversed());
};

it(
  'a damaged object and a deletion of one organisation leave what others archive and delete alone',
  { timeout: 60_000 },
  async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const { path: root } = open.use(await folderInMemory('archive'));
    const where = { RUNLEDGER_ARCHIVE: 'directory', RUNLEDGER_ARCHIVE_DIRECTORY: root };
    const other = await bed.newTenant();
    const endedRun = async ({ org_id }: Tenant): Promise<RunKey> => {
      const run = aRun(org_id);
      await appendAll(bed.log, queued(run), assigned(run), started(run), succeeded(run));
      return run;
    };
    const gateway = await bed.gateway({ environment: { ...ARCHIVES_AT_ONCE, ...where }, projecting: true });
    const remove = ({ run_id }: RunKey, { key }: Tenant) =>
      call(`${gateway.api}/run/${run_id}`, key, { method: 'DELETE' });

    const [gone] = [await endedRun(bed.tenant), await endedRun(bed.tenant)];
    await archivedUpTo(bed);
    for (const file of await filesIn(root)) await damage(file);
    const ofOne = new Set(await filesIn(root));
    expect((await remove(gone, bed.tenant)).status).toBe(200);

    const run = await endedRun(other);
    await archivedUpTo(bed);
    const ofOther = (await filesIn(root)).filter((file) => !ofOne.has(file));
    expect(ofOther.length).toBeGreaterThan(0);
    expect((await remove(run, other)).status).toBe(200);
    await waitFor('the erasure', async () => {
      const left = await filesIn(root);
      return !ofOther.some((file) => left.includes(file));
    });
  },
);

it(
  'views that are made anew lack only what the organisation has whose object is damaged',
  { timeout: 60_000 },
  async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const { log, tenant } = bed;
    const { path: root } = open.use(await folderInMemory('archive'));
    const environment = { RUNLEDGER_ARCHIVE: 'directory', RUNLEDGER_ARCHIVE_DIRECTORY: root };
    const other = await bed.newTenant();
    const [run, ofOther] = [aRun(tenant.org_id), aRun(other.org_id)];
    for (const one of [run, ofOther])
      await appendAll(log, queued(one), assigned(one), started(one), succeeded(one));
    await archiveAll(log, { objects: objectsOf(log, environment) });
    await forgetAll(log);
    const own = (await filesIn(root)).filter((file) => file.includes(tenant.org_id));
    for (const file of own) await damage(file);

    const gateway = await bed.gateway({ environment, projecting: true });
    /** What only views answer that have every run. */
    const cancelAll = async ({ key }: Tenant): Promise<number> =>
      (await post(`${gateway.api}/runs/cancel`, key, { filter: {}, dry_run: true })).status;
    await waitFor('the views of the other', async () => (await cancelAll(other)) === 200);
    expect((await gateway.views.find(ofOther))?.run.status).toBe('success');
    expect(await cancelAll(tenant)).toBe(503);
    expect((await gateway.views.position())?.missed?.of).toEqual([tenant.org_id]);
    expect((await queueKeyed(gateway, other, 'order-1')).status).toBe(200);

    for (const file of own) await damage(file);
    await waitFor('the views of this one', async () => (await cancelAll(tenant)) === 200);
    expect((await gateway.views.find(run))?.run.status).toBe('success');
  },
);
