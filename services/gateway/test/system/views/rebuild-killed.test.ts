import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requestRebuild } from '@runledger/request-reply/rebuild-views';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { clock } from '../../../src/kit.ts';
import { VIEW_VERSION } from '../../../src/views/stored-run.decide.ts';
import { openViewStore } from '../../../src/views/open-view-store.ts';
import { startGatewayProcess } from '../../fixtures/gateway/a-service.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { project } from '../../fixtures/views/a-projection.ts';
import { expectFolded, storeRuns } from '../../fixtures/views/projected-runs.ts';

const SLOW = { timeout: 180_000 };
const KILLS = 4;

describe('a gateway that is killed again and again while it builds its views anew', SLOW, () => {
  it('goes on with what was built, and has the same views in the end', async () => {
    await using open = new AsyncDisposableStack();
    const { log, nats } = open.use(await aLog());
    const folder = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-test-views-')));
    const where = {
      RUNLEDGER_VIEWS: 'sqlite',
      RUNLEDGER_VIEWS_FILE: join(folder.path, 'views.sqlite'),
    } as const;
    const settings = { ...where, MONGODB_URL: 'mongodb://127.0.0.1:1' };
    const keys = await storeRuns(log, 600);
    const views = await openViewStore(settings, { version: VIEW_VERSION, clock });
    const projection = project(log, views);
    await expectFolded(log, views, keys);
    const before = await views.listAll({ after: '', limit: 1_000 });
    await projection[Symbol.asyncDispose]();
    await views[Symbol.asyncDispose]();

    const derivation = async (action: 'start' | 'state'): Promise<number> => {
      const response = await waitFor('a response', () => requestRebuild(log, { action }, 2_000));
      return response.derivation;
    };
    let gateway = await startGatewayProcess({ ...nats.env, ...where });
    await derivation('start');
    let kills = 0;
    for (; kills < KILLS && (await derivation('state')) === 1; kills += 1) {
      gateway.kill('SIGKILL');
      await gateway.exit();
      gateway = await startGatewayProcess({ ...nats.env, ...where });
    }
    expect(kills).toBeGreaterThan(0);
    await waitFor('the new views', async () => (await derivation('state')) === 2);
    await gateway[Symbol.asyncDispose]();

    const rebuilt = open.use(await openViewStore(settings, { version: VIEW_VERSION, clock }));
    expect(await rebuilt.next.exists()).toBe(false);
    expect(await rebuilt.listAll({ after: '', limit: 1_000 })).toEqual(before);
  });
});
