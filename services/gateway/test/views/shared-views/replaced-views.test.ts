import { describeWithMongo, testMongo } from '@runledger/testing/servers/mongo';
import { waitFor } from '@runledger/testing/wait-for';
import { assigned, failed, queued, aRun } from '@runledger/testing/run-events';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { MongoClient, type Db } from 'mongodb';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { webhookDelivered } from '@runledger/testing/webhook-events';
import { expect, it } from 'vitest';
import { beginningOf } from '../../../src/views/projection-start.decide.ts';
import { ViewsReplaced } from '../../../src/views/position-watch.ts';
import { foldUpToNow } from '../../../src/views/rebuild/build-views.ts';
import type { ViewStore } from '../../../src/views/run-views.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { project } from '../../fixtures/views/a-projection.ts';
import { COLLECTION, mongoUrl, openViews } from '../../fixtures/views/mongo-views.ts';
import { expectFolded, storeRuns } from '../../fixtures/views/projected-runs.ts';

interface Projected {
  readonly log: EventLog;
  readonly views: ViewStore;
  /** As an administrator of the database uses it. */
  readonly database: Db;
  /** All that the database holds. */
  readonly copy: () => Promise<() => Promise<void>>;
}

const aProjection = async (open: AsyncDisposableStack): Promise<Projected> => {
  const { log } = open.use(await aLog());
  const mongo = open.use(await testMongo());
  const views = open.use(openViews(mongoUrl(mongo)));
  open.use(project(log, views));
  const database = open.use(new MongoClient(mongo.url)).db(mongo.database);
  return { log, views, database, copy: () => copyOf(database) };
};

/** Copies a database; the answer puts the copy in its place. */
const copyOf = async (database: Db): Promise<() => Promise<void>> => {
  const names = [COLLECTION, 'projections'];
  const copied = await Promise.all(
    names.map(async (name) => [name, await database.collection(name).find().toArray()] as const),
  );
  return async () => {
    for (const [name, documents] of copied) {
      await database.collection(name).deleteMany({});
      await database.collection(name).insertMany(documents);
    }
  };
};

describeWithMongo('the projection of a running gateway', () => {
  it('makes all views again when the database was emptied, although nothing new happens', async () => {
    await using open = new AsyncDisposableStack();
    const { log, views, database } = await aProjection(open);
    const keys = await storeRuns(log, 16);
    await expectFolded(log, views, keys);
    const indexes = await database.collection(COLLECTION).indexes();
    await database.dropDatabase();
    await expectFolded(log, views, keys);
    await waitFor('the position', async () => ((await views.position())?.sequence ?? 0) > 16);
    expect(await database.collection(COLLECTION).indexes()).toEqual(indexes);
  });

  it('makes all views again when the database was emptied and the log continues', async () => {
    await using open = new AsyncDisposableStack();
    const { log, views, database } = await aProjection(open);
    const keys = await storeRuns(log, 16);
    await expectFolded(log, views, keys);
    await database.dropDatabase();
    keys.push(...(await storeRuns(log, 1)));
    await expectFolded(log, views, keys);
  });

  it('continues when a copy was restored that is ahead of the views, which were being made again', async () => {
    await using open = new AsyncDisposableStack();
    const { log, views, database, copy } = await aProjection(open);
    const keys = await storeRuns(log, 16);
    await expectFolded(log, views, keys);
    await waitFor('the position', async () => ((await views.position())?.sequence ?? 0) >= 16);
    const restore = await copy();
    await database.dropDatabase();
    await expectFolded(log, views, keys);
    await waitFor('the next derivation', async () => (await views.position())?.derivation === 2);
    await restore();
    await database.collection('projections').updateOne({}, { $inc: { sequence: 100 } });
    keys.push(...(await storeRuns(log, 4)));
    await expectFolded(log, views, keys);
  });

  it('takes every run back to its last fact when an older copy of the database was restored', async () => {
    await using open = new AsyncDisposableStack();
    const { log, views, copy } = await aProjection(open);
    const ended = aRun();
    await appendAll(log, queued(ended), assigned(ended));
    const keys = [ended, ...(await storeRuns(log, 6))];
    await expectFolded(log, views, keys);
    await waitFor('the position', async () => ((await views.position())?.sequence ?? 0) > 8);
    const restore = await copy();
    await appendAll(log, failed(ended));
    keys.push(...(await storeRuns(log, 6)));
    await expectFolded(log, views, keys);
    await restore();
    await expectFolded(log, views, keys);
    expect((await views.find(ended))?.run.status).toBe('failed');
  });

  it('writes nothing of its next facts into an older copy that it has not noticed yet', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const mongo = open.use(await testMongo());
    const views = open.use(openViews(mongoUrl(mongo)));
    const database = open.use(new MongoClient(mongo.url)).db(mongo.database);
    const { signal } = new AbortController();
    const fold = { log, next: views, logger: silentLogger, signal, onProgress: () => undefined };
    const key = aRun();
    const beginning = beginningOf(await runsIdentity(log), 1);
    await views.resetTo(beginning);
    await appendAll(log, queued(key, { webhook: 'https://a.example/' }), assigned(key));
    const before = await foldUpToNow(fold, beginning);
    const restore = await copyOf(database);
    await appendAll(log, failed(key));
    const after = await foldUpToNow(fold, before);
    await restore();
    const copied = await views.find(key);
    // It follows on the copy, which does not know that the run has ended.
    await appendWebhook(log, webhookDelivered(key));
    await expect(foldUpToNow(fold, after)).rejects.toThrow(ViewsReplaced);
    expect(await views.find(key)).toEqual(copied);
    await foldUpToNow(fold, before);
    await expectFolded(log, views, [key]);
  });
});
