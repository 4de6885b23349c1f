import { aRun } from '@runledger/testing/events/run-events';
import { describeWithMongo } from '@runledger/testing/servers/mongo';
import { expect, it } from 'vitest';
import { memoryRunViews } from '../../src/projection/memory/memory-run-views.ts';
import { ViewsUnavailable } from '../../src/projection/run-views.ts';
import { mongoViews, viewsThatAreAway } from '../fixtures/views/mongo-views.ts';
import { runViewsConformance } from './run-views.conformance.ts';

runViewsConformance('memory', async (maxSearched) => ({
  views: memoryRunViews(maxSearched === undefined ? {} : { maxSearched }),
  [Symbol.asyncDispose]: async () => undefined,
}));

describeWithMongo('with a server', () => {
  runViewsConformance('MongoDB', async (searchFirst) => {
    await using opened = new AsyncDisposableStack();
    const limits = searchFirst === undefined ? {} : { searchFirst, searchForMs: 0 };
    const views = await mongoViews(opened, { readWithinMs: 10_000, ...limits });
    const kept = opened.move();
    return { views, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  });
});

it('views in a MongoDB that is away fail soon with ViewsUnavailable', async () => {
  await using views = viewsThatAreAway();
  await expect(views.find(aRun())).rejects.toThrow(ViewsUnavailable);
  await expect(views.position()).rejects.toThrow(ViewsUnavailable);
});
