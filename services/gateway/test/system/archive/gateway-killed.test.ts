import { once } from 'node:events';
import { watch } from 'node:fs';
import { mkdtempDisposable, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import {
  archivedIn,
  archivedOf,
  archivedUpTo,
  ARCHIVES_AT_ONCE,
  objectsOf,
} from '../../archive/archived-runs.ts';
import { startGatewayProcess } from '../../fixtures/gateway/a-service.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import type { Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { forgetAll } from '../../fixtures/runs/forgotten-log.ts';

/** Processes start. */
const SLOW = { timeout: 180_000 };
const TENANTS = 12;

/** Two ended runs of each. */
const someRuns = async ({ log }: TestBed, tenants: readonly Tenant[]): Promise<Map<string, Tenant>> => {
  const runs = new Map<string, Tenant>();
  for (const tenant of [...tenants, ...tenants]) {
    const run = aRun(tenant.org_id);
    await appendAll(log, queued(run), assigned(run), started(run), succeeded(run));
    runs.set(run.run_id, tenant);
  }
  return runs;
};

describe('a gateway that is killed while it archives', SLOW, () => {
  it('goes on when it starts again: nothing is lost, and no object is left over', async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const { path: root } = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-archive-')));
    const tenants = await Promise.all(Array.from({ length: TENANTS }, () => bed.newTenant()));
    const runs = await someRuns(bed, tenants);
    const environment = {
      ...bed.nats.env,
      ...ARCHIVES_AT_ONCE,
      RUNLEDGER_ARCHIVE: 'directory',
      RUNLEDGER_ARCHIVE_DIRECTORY: root,
      RUNLEDGER_VIEWS: 'sqlite',
      RUNLEDGER_VIEWS_FILE: ':memory:',
    };
    for (const _ of ['first', 'second']) {
      const stored = watch(root, { recursive: true });
      const killed = await startGatewayProcess(environment);
      await once(stored, 'change');
      killed.kill('SIGKILL');
      stored.close();
      await killed[Symbol.asyncDispose]();
    }
    const last = open.use(await startGatewayProcess(environment));
    await archivedUpTo(bed);
    const objects = objectsOf(bed.log, environment);
    const archived = await archivedIn(bed.log, objects);
    expect(archived.map(({ run_id }) => run_id).toSorted()).toEqual([...runs.keys()].toSorted());
    for (const run of archived) expect((await archivedOf(bed.log, run, objects))?.life).toHaveLength(4);
    expect(await filesIn(root)).toBe(runs.size);
    await last[Symbol.asyncDispose]();

    await forgetAll(bed.log);
    // Its views know nothing.
    const reader = await bed.gateway({ environment });
    for (const [run_id, { key }] of runs) {
      const { status, body } = await call(`${reader.api}/run/${run_id}/history`, key);
      expect([status, body.status, body.entries.length]).toEqual([200, 'success', 4]);
    }
  });
});

/** Without what a killed process has not stored: that is removed after a day. */
const filesIn = async (root: string): Promise<number> =>
  (await readdir(root, { recursive: true, withFileTypes: true })).filter(
    (entry) => entry.isFile() && !entry.parentPath.endsWith('incoming'),
  ).length;
