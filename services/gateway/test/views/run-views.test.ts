import { aRun } from '@runledger/testing/run-events';
import { describeWithMongo, testMongo } from '@runledger/testing/mongo';
import { expect, it } from 'vitest';
import { memoryRunViews } from '../../src/views/memory-run-views.ts';
import { openMongoRunViews } from '../../src/views/mongo-run-views.ts';
import { ViewsUnavailable } from '../../src/views/run-views.ts';
import { mongoUrl } from '../fixtures/mongo-url.ts';
import { runViewsConformance } from './run-views.conformance.ts';

runViewsConformance('memory', async () => ({
  views: memoryRunViews(),
  [Symbol.asyncDispose]: async () => undefined,
}));

describeWithMongo('with a server', () => {
  runViewsConformance('MongoDB', async () => {
    await using opened = new AsyncDisposableStack();
    const mongo = opened.use(await testMongo());
    const views = opened.use(
      openMongoRunViews({ url: mongoUrl(mongo), retentionDays: 10_000, readWithinMs: 10_000 }),
    );
    const kept = opened.move();
    return { views, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  });
});

it('views in a MongoDB that is away say so, soon', async () => {
  await using views = openMongoRunViews({
    url: 'mongodb://127.0.0.1:1/runledger',
    readWithinMs: 200,
    writeWithinMs: 400,
  });
  await expect(views.find(aRun())).rejects.toThrow(ViewsUnavailable);
  await expect(views.position()).rejects.toThrow(ViewsUnavailable);
});
