import { aRun } from '@runledger/testing/events/run-events';
import { describeWithMongo, testMongo } from '@runledger/testing/servers/mongo';
import { expect, it } from 'vitest';
import { clock as systemClock } from '../../src/gateway-parts.ts';
import { memoryRunViews } from '../../src/projection/memory/memory-run-views.ts';
import { ViewsUnavailable } from '../../src/projection/run-views.ts';
import { insertViews, mongoUrl, openViews, unavailableViews } from '../fixtures/views/mongo-views.ts';
import { runViewsConformance } from './run-views.conformance.ts';

runViewsConformance('memory', async () => {
  const views = memoryRunViews();
  return {
    views,
    searched: 100_000,
    fill: (filling) => views.save(filling),
    [Symbol.asyncDispose]: async () => undefined,
  };
});

describeWithMongo('with a server', () => {
  runViewsConformance('MongoDB', async (clock = systemClock) => {
    await using opened = new AsyncDisposableStack();
    const url = mongoUrl(opened.use(await testMongo()));
    const views = opened.use(openViews(url, { readWithinMs: 10_000, clock }));
    const kept = opened.move();
    return {
      views,
      searched: 500,
      fill: (filling) => insertViews(url, filling),
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    };
  });
});

it('fails soon with ViewsUnavailable when MongoDB is unavailable', async () => {
  await using views = unavailableViews();
  await expect(views.find(aRun())).rejects.toThrow(ViewsUnavailable);
  await expect(views.position()).rejects.toThrow(ViewsUnavailable);
});
