import { describeWithMongo, privateMongo } from '@runledger/testing/servers/mongo';
import { describe, expect, it } from 'vitest';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { openViews } from '../../fixtures/views/mongo-views.ts';
import { aLog, aLogOnOwnBroker } from '../../fixtures/gateway/a-log.ts';
import { project } from '../../fixtures/views/a-projection.ts';
import { expectFolded, storeRuns } from '../../fixtures/views/projected-runs.ts';

describe('a projection into memory', () => {
  it('continues after a kill -9 of the broker', async () => {
    await using open = new AsyncDisposableStack();
    const { nats, log } = open.use(await aLogOnOwnBroker());
    const views = sqliteViews();
    open.use(project(log, views));
    const before = await storeRuns(log, 6);
    await expectFolded(log, views, before);
    await nats.kill9();
    await nats.restart();
    await expectFolded(log, views, [...before, ...(await storeRuns(log, 6))]);
  });
});

describeWithMongo('a projection into MongoDB', () => {
  it('continues after a kill -9 of the database', async (context) => {
    await using open = new AsyncDisposableStack();
    const mongo = await privateMongo();
    if (mongo.kind === 'unavailable') return context.skip(mongo.reason);
    open.use(mongo);
    const { log } = open.use(await aLog());
    const views = open.use(openViews(mongo.url, { readWithinMs: 1_000, writeWithinMs: 2_000 }));
    const projection = open.use(project(log, views));
    const before = await storeRuns(log, 6);
    await expectFolded(log, views, before);
    await mongo.kill9();
    const meanwhile = await storeRuns(log, 6);
    await mongo.restart();
    await expectFolded(log, views, [...before, ...meanwhile]);
    expect(projection.state()).toEqual({ ok: true });
  });
});
