import { setTimeout as pause } from 'node:timers/promises';
import type {
  RebuildViewsRequest,
  RebuildViewsResponse,
} from '@runledger/contracts/requests/operator-requests';
import { numberOf } from '@runledger/contracts/exact-number';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readAllOfRun } from '@runledger/event-log/read/read-all-of-run';
import { readRun } from '@runledger/event-log/read/read-run';
import { requestRebuild } from '@runledger/request-reply/rebuild-views';
import { silentLogger } from '@runledger/event-log/connect/observability';
import type { BrokerAccess } from '@runledger/testing/servers/broker-access';
import { aRun, assigned, deleted, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { clock } from '../../../src/kit.ts';
import { VIEW_VERSION } from '../../../src/views/stored-run.decide.ts';
import { openViewStore, type ViewSettings } from '../../../src/views/open-view-store.ts';
import { ArchiveUnavailable } from '../../../src/archive/archive-objects.ts';
import type { ViewSources } from '../../../src/views/rebuild/first-views.ts';
import { openRebuilds } from '../../../src/views/rebuild/rebuilds.ts';
import { openRunProjection } from '../../../src/views/run-projection.ts';
import type { RunViews, ViewStore } from '../../../src/views/run-views.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { forgetBefore, untilOlder } from '../../fixtures/runs/forgotten-log.ts';
import { expectFolded, storeRuns } from '../../fixtures/views/projected-runs.ts';

/** Numbers that no double holds: a thread cannot be given them as they are. */
const EXACT = { inputs: { seed: numberOf('6687881544318117707'), cfg: numberOf('4.0') } };

/** Threads start, and fold beside other tests. */
const SLOW = { timeout: 90_000 };

/** Views that a gateway keeps, and builds again. */
const aGateway = async (
  open: AsyncDisposableStack,
  { log, nats }: { readonly log: EventLog; readonly nats: BrokerAccess },
  settings: ViewSettings,
  archived: ViewSources['archived'] = async function* () {},
): Promise<ViewStore> => {
  const views = open.use(await openViewStore(settings, { version: VIEW_VERSION, clock }));
  const projection = open.use(openRunProjection({ log, views, logger: silentLogger, instance: 'test' }));
  const config = { ...settings, ...(nats.env as { NATS_URL: string }) };
  const order = { config, instance: 'test', level: 'silent', version: VIEW_VERSION } as const;
  const kept = { log, views, archived, retentionCutoff: async () => 0 };
  open.use(openRebuilds({ ...kept, projection, logger: silentLogger, order, clock }));
  return views;
};

const ask = async (log: EventLog, request: RebuildViewsRequest): Promise<RebuildViewsResponse> => {
  const response = await waitFor('a response', () => requestRebuild(log, request, 2_000));
  return response;
};

/** How the rebuild ends. */
const rebuilt = async (
  log: EventLog,
  request: Omit<RebuildViewsRequest, 'action'> = {},
): Promise<RebuildViewsResponse> => {
  const begun = await ask(log, { ...request, action: 'start' });
  expect(begun).not.toHaveProperty('why');
  return waitFor('the end of the rebuild', async () => {
    const state = await ask(log, { action: 'state' });
    return ['different', 'replaced', 'failed'].includes(state.state) ? state : undefined;
  });
};

const everyRun = async (views: RunViews): Promise<unknown[]> => views.listAll({ after: '', limit: 1_000 });

type Settings = (open: AsyncDisposableStack) => Promise<ViewSettings>;

export const rebuildConformance = (
  name: string,
  /** So many that some of their facts are folded in batches. */
  runs: number,
  settings: Settings,
): void => {
  describe(`a rebuild of views in ${name}`, SLOW, () => {
    it('makes the same views from the log, and puts them in the place of the live ones', async () => {
      await using open = new AsyncDisposableStack();
      const { log, nats } = open.use(await aLog());
      const views = await aGateway(open, { log, nats }, await settings(open));
      const keys = await storeRuns(log, runs);
      await expectFolded(log, views, keys);
      const before = await everyRun(views);
      const end = await rebuilt(log);
      expect(end).toMatchObject({ state: 'replaced', comparison: { differences: 0, examples: [] } });
      expect(end.comparison?.live_sha256).toBe(end.comparison?.new_sha256);
      expect((end.comparison?.runs ?? 0) + (end.comparison?.compared_at_end ?? 0)).toBe(runs);
      expect((await views.position())?.derivation).toBe(2);
      expect(await everyRun(views)).toEqual(before);
      expect(await views.next.exists()).toBe(false);
      // The projection goes on with them.
      await expectFolded(log, views, [...keys, ...(await storeRuns(log, 6))]);
    });

    it('shows every run in each response meanwhile, while facts are stored', async () => {
      await using open = new AsyncDisposableStack();
      const { log, nats } = open.use(await aLog());
      const views = await aGateway(open, { log, nats }, await settings(open));
      const keys = await storeRuns(log, 30);
      await expectFolded(log, views, keys);
      const over = new AbortController();
      const more: RunKey[] = [];
      const storing = (async () => {
        while (!over.signal.aborted && more.length < runs / 2) {
          more.push(...(await storeRuns(log, 6)));
          await pause(20);
        }
      })();
      const missing: unknown[] = [];
      const looking = (async () => {
        while (!over.signal.aborted) {
          const found = await views.load(keys);
          if (found.length !== keys.length) missing.push(found.length);
          // Other work of this process goes on.
          await pause(20);
        }
      })();
      const end = await rebuilt(log);
      over.abort();
      await Promise.all([storing, looking]);
      expect(end).not.toHaveProperty('why');
      expect(end).toMatchObject({ state: 'replaced', comparison: { differences: 0 } });
      expect(missing).toEqual([]);
      await expectFolded(log, views, [...keys, ...more]);
    });

    it('keeps the runs that the log has lost', async () => {
      await using open = new AsyncDisposableStack();
      const { log, nats } = open.use(await aLog());
      const views = await aGateway(open, { log, nats }, await settings(open));
      const old = aRun();
      await appendAll(log, queued(old, EXACT), assigned(old), started(old), succeeded(old));
      await untilOlder(log);
      const young = await storeRuns(log, 6);
      await expectFolded(log, views, [old, ...young]);
      await forgetBefore(log, 5);
      expect((await readRun(log, old)).kind).toBe('none');
      const before = await everyRun(views);
      expect(await rebuilt(log)).toMatchObject({ state: 'replaced', comparison: { differences: 0 } });
      expect(await everyRun(views)).toEqual(before);
    });

    it('names the runs whose live view is wrong, and replaces them when the operator accepts that', async () => {
      await using open = new AsyncDisposableStack();
      const { log, nats } = open.use(await aLog());
      const views = await aGateway(open, { log, nats }, await settings(open));
      const [wrong, missing, ...others] = await storeRuns(log, 12);
      if (!wrong || !missing) throw new Error('twelve runs');
      await expectFolded(log, views, [wrong, missing, ...others]);
      const right = await everyRun(views);
      const [[seen], [there]] = [await views.load([wrong]), await views.load([missing])];
      if (!seen || !there) throw new Error('both have a view');
      await views.save([{ ...seen, run: { ...seen.run, number: 4_711 } }]);
      await views.remove([there]);
      const found = await rebuilt(log);
      expect(found).toMatchObject({ state: 'different', derivation: 1, comparison: { differences: 2 } });
      expect(found.comparison?.examples.map(({ run_id }) => run_id).toSorted()).toEqual(
        [wrong.run_id, missing.run_id].toSorted(),
      );
      expect(await views.load([missing])).toEqual([]);
      expect(await rebuilt(log, { accept_differences: true })).toMatchObject({
        state: 'replaced',
        comparison: { differences: 2 },
      });
      expect(await everyRun(views)).toEqual(right);
    });
  });
};

/** What is the same in every store. */
export const rebuildRules = (settings: Settings): void => {
  describe('a rebuild of views', SLOW, () => {
    it('folds the runs that the log has lost from the archive, and finds that their live view is wrong or missing', async () => {
      await using open = new AsyncDisposableStack();
      const { log, nats } = open.use(await aLog());
      const old = aRun();
      await appendAll(log, queued(old, EXACT), assigned(old), started(old), succeeded(old));
      const messages = await readAllOfRun(log, old);
      if (!messages) throw new Error('four messages');
      const archived = async function* () {
        yield messages;
      };
      const views = await aGateway(open, { log, nats }, await settings(open), archived);
      await untilOlder(log);
      const young = await storeRuns(log, 6);
      await expectFolded(log, views, [old, ...young]);
      await forgetBefore(log, 5);
      const right = await everyRun(views);
      const [seen] = await views.load([old]);
      if (!seen) throw new Error('it has a view');
      const isFound = { state: 'different', comparison: { examples: [{ run_id: old.run_id }] } };
      await views.remove([seen]);
      expect(await rebuilt(log)).toMatchObject(isFound);
      await views.save([{ ...seen, run: { ...seen.run, number: 4_711 } }]);
      expect(await rebuilt(log)).toMatchObject(isFound);
      expect(await rebuilt(log, { accept_differences: true })).toMatchObject({ state: 'replaced' });
      expect(await everyRun(views)).toEqual(right);
    });

    it('copies a whole view in place of an archived run that cannot be read, and fails without one', async () => {
      await using open = new AsyncDisposableStack();
      const { log, nats } = open.use(await aLog());
      const old = aRun();
      await appendAll(log, queued(old), assigned(old), started(old), succeeded(old));
      const unreadable = (): never => {
        throw new ArchiveUnavailable('the archived run is damaged');
      };
      const views = await aGateway(open, { log, nats }, await settings(open), async function* (isKnown) {
        yield* (await isKnown(old)) ? [] : unreadable();
      });
      await untilOlder(log);
      await expectFolded(log, views, [old, ...(await storeRuns(log, 2))]);
      await forgetBefore(log, 5);
      const right = await everyRun(views);
      expect(await rebuilt(log)).toMatchObject({ state: 'replaced' });
      expect(await everyRun(views)).toEqual(right);
      await views.remove(await views.load([old]));
      const isFailed = { state: 'failed', why: expect.stringContaining('the archived run is damaged') };
      expect(await rebuilt(log)).toMatchObject(isFailed);
    });

    it('is gone when the operator stops it', async () => {
      await using open = new AsyncDisposableStack();
      const { log, nats } = open.use(await aLog());
      const views = await aGateway(open, { log, nats }, await settings(open));
      await expectFolded(log, views, await storeRuns(log, 6));
      await ask(log, { action: 'start' });
      expect(await ask(log, { action: 'stop' })).toMatchObject({ state: 'none', derivation: 1 });
      expect(await views.next.exists()).toBe(false);
      expect(await rebuilt(log)).toMatchObject({ state: 'replaced' });
    });

    it('takes over what was erased of a deleted run', async () => {
      await using open = new AsyncDisposableStack();
      const { log, nats } = open.use(await aLog());
      const views = await aGateway(open, { log, nats }, await settings(open));
      const key = aRun();
      await appendAll(log, queued(key), assigned(key), started(key), succeeded(key), deleted(key));
      await waitFor('the deletion', async () => (await views.load([key]))[0]?.head === 5);
      const [view] = await views.load([key]);
      if (!view || !('to_erase' in view.run)) throw new Error('it was deleted');
      await views.save([{ ...view, run: { ...view.run, to_erase: null } }]);
      const before = await everyRun(views);
      expect(await rebuilt(log)).toMatchObject({ state: 'replaced' });
      expect(await everyRun(views)).toEqual(before);
    });
  });
};
