import { aRun } from '@runledger/testing/run-events';
import { describeWithMongo, testMongo } from '@runledger/testing/servers/mongo';
import { expect, it } from 'vitest';
import { clock as systemClock } from '../../src/kit.ts';
import { sqliteViews } from '../fixtures/views/sqlite-views.ts';
import { ViewsUnavailable } from '../../src/views/run-views.ts';
import { insertViews, mongoUrl, openViews, unavailableViews } from '../fixtures/views/mongo-views.ts';
import { runViewsConformance } from './run-views.conformance.ts';

runViewsConformance('SQLite', async (clock = systemClock) => {
  const views = sqliteViews({ clock });
  return {
    views,
    searched: 500,
    fill: (filling) => views.save(filling),
    [Symbol.asyncDispose]: () => views[Symbol.asyncDispose](),
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
