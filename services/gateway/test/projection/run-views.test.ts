import { aRun } from '@runledger/testing/events/run-events';
import { describeWithMongo } from '@runledger/testing/servers/mongo';
import { expect, it } from 'vitest';
import { memoryRunViews } from '../../src/projection/memory/memory-run-views.ts';
import { ViewsUnavailable } from '../../src/projection/run-views.ts';
import { mongoViews, viewsThatAreAway } from '../fixtures/views/mongo-views.ts';
import { runViewsConformance } from './run-views.conformance.ts';

runViewsConformance('memory', async (lookAtMost) => ({
  views: memoryRunViews(lookAtMost === undefined ? {} : { lookAtMost }),
  [Symbol.asyncDispose]: async () => undefined,
}));

describeWithMongo('with a server', () => {
  runViewsConformance('MongoDB', async (lookAtFirst) => {
    await using opened = new AsyncDisposableStack();
    const looking = lookAtFirst === undefined ? {} : { lookAtFirst, lookForMs: 0 };
    const views = await mongoViews(opened, { readWithinMs: 10_000, ...looking });
    const kept = opened.move();
    return { views, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  });
});

it('views in a MongoDB that is away say so, soon', async () => {
  await using views = viewsThatAreAway();
  await expect(views.find(aRun())).rejects.toThrow(ViewsUnavailable);
  await expect(views.position()).rejects.toThrow(ViewsUnavailable);
});
