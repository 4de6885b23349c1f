import { aRun, queued } from '@runledger/testing/run-events';
import { describeWithMongo, testMongo } from '@runledger/testing/servers/mongo';
import { waitFor } from '@runledger/testing/wait-for';
import { MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { beginningOf, type ProjectionPosition } from '../../../src/views/projection-start.decide.ts';
import type { ViewStore } from '../../../src/views/run-views.ts';
import { aView, folded } from '../../fixtures/runs/folded-runs.ts';
import { mongoUrl, openViews } from '../../fixtures/views/mongo-views.ts';

const CREATED = '2026-01-01T00:00:00.000000001Z';
const OTHER_LOG = '2026-02-02T00:00:00.000000001Z';
const beginning = (derivation: number): ProjectionPosition =>
  beginningOf({ created: CREATED, since: CREATED }, derivation);

/** Stores of one database, in which a collection is dropped soon after nothing uses it. */
const aDatabase = async (open: AsyncDisposableStack) => {
  const url = mongoUrl(open.use(await testMongo()));
  const database = open.use(new MongoClient(url)).db();
  return {
    store: (version: number): ViewStore => open.use(openViews(url, { version, unusedForMs: 50 })),
    collections: async (): Promise<string[]> => {
      const all = await database.listCollections({}, { nameOnly: true }).toArray();
      return all.map(({ name }) => name).toSorted();
    },
  };
};

/** Views in the first set of a version. */
const live = async (views: ViewStore): Promise<ViewStore> => {
  await views.resetTo(beginning(1));
  await views.save([aView(0, folded(queued(aRun())))]);
  return views;
};

const beginNext = async (views: ViewStore, derivation: number): Promise<void> => {
  await using next = await views.next.open();
  await next.resetTo(beginning(derivation));
  await next.save([aView(0, folded(queued(aRun())))]);
};

describeWithMongo('sets of views in MongoDB', () => {
  it('are dropped when they were replaced, and neither the live one nor one that is being built', async () => {
    await using open = new AsyncDisposableStack();
    const { store, collections } = await aDatabase(open);
    const views = await live(store(1));
    await beginNext(views, 2);
    expect(await views.next.replaceLive(beginning(1), beginning(2))).toBe(true);
    await beginNext(views, 3);
    await waitFor('the drop', async () => !(await collections()).includes('run_views_v1'));
    expect(await collections()).toEqual(['projections', 'run_views_v1_2', 'run_views_v1_3']);
    expect(await views.position()).toMatchObject({ derivation: 2 });
  });

  it('of a former version stay until the log has lost facts that they lack', async () => {
    await using open = new AsyncDisposableStack();
    const { store, collections } = await aDatabase(open);
    const former = await live(store(1));
    const views = store(2);
    const lost = { created: CREATED, firstSequence: 2 };
    await beginNext(views, 1);
    // Nothing else has the runs that the log has lost.
    expect(await views.dropFormer(lost)).toEqual([]);
    await views.next.replaceLive(undefined, beginning(1));
    expect(await views.dropFormer({ ...lost, firstSequence: 1 })).toEqual([]);
    expect(await former.position()).toMatchObject({ sequence: 0 });

    expect(await former.dropFormer(lost)).toEqual([]);
    expect(await views.dropFormer(lost)).toEqual([1]);
    await waitFor('the drop', async () => !(await collections()).includes('run_views_v1'));
    expect(await collections()).toEqual(['projections', 'run_views_v2_1']);
    expect(await former.position()).toBeUndefined();
    expect(await views.position()).toMatchObject({ sequence: 0 });
  });

  it('of a former version and another log lack all facts of the present one', async () => {
    await using open = new AsyncDisposableStack();
    const { store } = await aDatabase(open);
    await live(store(1));
    const views = store(2);
    await beginNext(views, 1);
    await views.next.replaceLive(undefined, { ...beginning(1), stream_created: OTHER_LOG });
    expect(await views.dropFormer({ created: OTHER_LOG, firstSequence: 1 })).toEqual([]);
    expect(await views.dropFormer({ created: OTHER_LOG, firstSequence: 2 })).toEqual([1]);
  });
});
