import { silentLogger } from '@runledger/event-log/connect/observability';
import type { Check } from '@runledger/service-kit/health-server';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { describeWithMongo } from '@runledger/testing/servers/mongo';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { clock } from '../../../src/kit.ts';
import { openViewStore, type ViewSettings } from '../../../src/views/open-view-store.ts';
import { openRunProjection } from '../../../src/views/run-projection.ts';
import { openFirstViews } from '../../../src/views/rebuild/first-views.ts';
import { ViewsUnavailable } from '../../../src/views/run-views.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { forgetBefore, untilOlder } from '../../fixtures/runs/forgotten-log.ts';
import { project } from '../../fixtures/views/a-projection.ts';
import { expectFolded, storeRuns } from '../../fixtures/views/projected-runs.ts';
import { inFile, inMongo } from '../../fixtures/views/view-settings.ts';

const SLOW = { timeout: 90_000 };

const firstViews = (
  name: string,
  /** Of a store in which the former gateway may go on. */
  mayServe: boolean,
  settings: (open: AsyncDisposableStack) => Promise<ViewSettings>,
): void => {
  describe(`a gateway with a new version of views in ${name}`, SLOW, () => {
    it('makes them beside those of the former version, and is ready when it has all', async () => {
      await using open = new AsyncDisposableStack();
      const { log, nats } = open.use(await aLog());
      const where = await settings(open);
      const former = open.use(new AsyncDisposableStack());
      const views = former.use(await openViewStore(where, { version: 1, clock }));
      former.use(project(log, views));
      const old = aRun();
      await appendAll(log, queued(old), assigned(old), started(old), succeeded(old));
      await untilOlder(log);
      const keys = await storeRuns(log, 12);
      await expectFolded(log, views, [old, ...keys]);
      await forgetBefore(log, 5);
      const [lost] = await views.load([old]);
      if (!mayServe) await former.disposeAsync();

      const next = open.use(await openViewStore(where, { version: 2, clock }));
      await expect(next.find(old)).rejects.toThrow(ViewsUnavailable);
      const checks: Record<string, Check> = {};
      const config = { ...where, ...(nats.env as { NATS_URL: string }) };
      const order = { config, instance: 'test', level: 'silent', version: 2 } as const;
      const archived = async function* () {};
      open.use(openFirstViews({ log, views: next, archived, logger: silentLogger, order }, checks));
      const kept = { log, views: next, logger: silentLogger, instance: 'test', version: 2 };
      open.use(openRunProjection(kept));
      const more = await storeRuns(log, 6);
      await waitFor('the new views', () => next.position());
      await expectFolded(log, next, [...keys, ...more]);
      expect(await next.load([old])).toEqual([lost]);
      await waitFor('readiness', () => !('views' in checks));
      expect(await next.former()).toBeUndefined();
      // Those of the former version go on with theirs.
      if (mayServe) await expectFolded(log, views, [...keys, ...more]);
    });
  });
};

firstViews('SQLite', false, inFile);

describeWithMongo('with a server', () => {
  firstViews('MongoDB', true, inMongo);
});
