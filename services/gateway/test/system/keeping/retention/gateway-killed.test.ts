import { existsSync } from 'node:fs';
import { mkdtempDisposable, readdir, watch } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { readLogAge } from '@runledger/event-log/read/stream-identity';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { orgId } from '@runledger/contracts/ids';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { directory } from '../../../../src/files/stores/directory-output-store.ts';
import type { RunView } from '../../../../src/views/run-view.ts';
import { startGatewayProcess } from '../../../fixtures/gateway/a-service.ts';
import { aKey } from '../../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../../fixtures/gateway/test-bed.ts';
import { call } from '../../../fixtures/requests/requests.ts';
import { anImage, anOutput } from '../../../fixtures/runs/an-output.ts';
import { aView, folded } from '../../../fixtures/runs/folded-runs.ts';
import { sqliteViews } from '../../../fixtures/views/sqlite-views.ts';
import { choose } from '../../../keeping/retention/aged-runs.ts';

/** Processes start. */
const SLOW = { timeout: 180_000 };
const OLD = 800;
const YOUNG = 20;
const DAY_MS = 86_400_000;

/** Views of ended runs of this age, which the log no longer has, each with a stored file. */
const someRuns = async (bed: TestBed, root: string, count: number, days: number): Promise<RunView[]> => {
  await using store = directory.open(
    { RUNLEDGER_OUTPUTS_DIRECTORY: root, RUNLEDGER_OUTPUTS_KEEP_DAYS: 90 },
    { log: bed.log, logger: silentLogger, now: () => new Date() },
    'outputs',
  );
  const { now } = await readLogAge(bed.log);
  const created_at = new Date(now - days * DAY_MS).toISOString();
  return Promise.all(
    Array.from({ length: count }, async () => {
      const file = { ...anImage, key: randomBytes(32).toString('base64url') };
      await store.put(file, ReadableStream.from([Buffer.alloc(file.bytes)]));
      const key = aRun(orgId(bed.tenant.org_id));
      const outputs = [{ ...anOutput, data: { images: [file] } }];
      const run = folded(queued(key), assigned(key), started(key), succeeded(key, outputs));
      return aView(4, { ...run, created_at, updated_at: created_at });
    }),
  );
};

/** Resolves when a stored file is gone. The gateway changes the folder in other ways too, such as when it starts. */
const firstRemoval = async (root: string): Promise<void> => {
  for await (const { filename } of watch(root, { recursive: true }))
    if (filename?.endsWith('content') && !existsSync(join(root, filename))) return;
};

describe('a gateway that is killed while it removes old runs', SLOW, () => {
  it('goes on when it starts again, and leaves nothing of them, and the others whole', async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const { path: root } = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-retention-')));
    const { path: folder } = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-views-')));
    const path = join(folder, 'views.sqlite');
    const old = await someRuns(bed, root, OLD, 40);
    const young = await someRuns(bed, root, YOUNG, 20);
    {
      await using views = sqliteViews({ path });
      await views.save([...old, ...young]);
    }
    const filesLeft = async (): Promise<number> =>
      (await readdir(root, { recursive: true })).filter((name) => name.endsWith('content')).length;
    expect(await filesLeft()).toBe(OLD + YOUNG);
    const edge = await bed.gateway();
    await choose(edge, await aKey(bed.log, bed.tenant, { scopes: ['admin'] }), { runs_days: 30 });

    const environment = {
      ...bed.nats.env,
      RUNLEDGER_OUTPUTS: 'directory',
      RUNLEDGER_OUTPUTS_DIRECTORY: root,
      RUNLEDGER_VIEWS: 'sqlite',
      RUNLEDGER_VIEWS_FILE: path,
    };
    const removal = firstRemoval(root);
    const first = open.use(await startGatewayProcess(environment));
    // At the first removal, and not when somebody looks: the rest takes a second or two.
    await removal;
    first.kill('SIGKILL');
    await first.exit();
    const left = await filesLeft();
    expect(left).toBeLessThan(OLD + YOUNG);
    expect(left).toBeGreaterThan(YOUNG);

    const next = open.use(await startGatewayProcess(environment));
    await waitFor('the others to be removed', async () => (await filesLeft()) === YOUNG);
    const listed = async (): Promise<number> =>
      (await call(`${next.api}/runs?limit=100`, bed.tenant.key)).body.runs.length;
    await waitFor('their views to be removed', async () => (await listed()) === YOUNG);
    const [one] = old;
    expect((await call(`${next.api}/run/${one?.run.run_id}`, bed.tenant.key)).status).toBe(404);
    for (const { run } of young) {
      expect((await call(`${next.api}/run/${run.run_id}`, bed.tenant.key)).status).toBe(200);
    }
  });
});
