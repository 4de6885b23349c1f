import { beginningOf } from '../../src/views/projection-start.decide.ts';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { describeWithMongo, testMongo } from '@runledger/testing/servers/mongo';
import { describe, expect, it } from 'vitest';
import { sqliteViews } from '../fixtures/views/sqlite-views.ts';
import type { RunView } from '../../src/views/run-view.ts';
import type { RunViews } from '../../src/views/run-views.ts';
import { everyPage } from '../fixtures/requests/every-page.ts';
import { insertViews, mongoUrl, openViews } from '../fixtures/views/mongo-views.ts';
import { smallRuns } from '../fixtures/runs/small-runs.ts';

interface Filled extends AsyncDisposable {
  readonly views: RunViews;
}

const manyRuns = (
  name: string,
  { count, limit }: { count: number; limit: number },
  open: (filling: readonly RunView[]) => Promise<Filled>,
): void => {
  describe(`${count} runs in ${name}`, () => {
    it('are listed page by page, each once, while other runs are added and change', async () => {
      const org = orgId(newUuid());
      const next = smallRuns(org);
      const there = Array.from({ length: count }, next);
      await using filled = await open([...there, smallRuns(orgId(newUuid()))()]);
      const { views } = filled;
      const newestFirst = there.map(({ run }) => run.number).toReversed();
      const walk = async (statuses?: readonly RunView['run']['status'][]) => {
        const pages = await everyPage(async (behind) => {
          const page = await views.listRuns({
            org_id: org,
            limit,
            ...behind,
            ...(statuses ? { statuses } : {}),
          });
          const [changed] = page.items;
          await views.save([next(), ...(changed ? [{ ...changed, head: changed.head + 1 }] : [])]);
          return page;
        });
        return pages.flat().map(({ run }) => run.number);
      };

      expect(await views.countQueued(org, count)).toBe(count / 10);
      expect(await walk()).toEqual(newestFirst);
      const came = Math.ceil(count / limit);
      const all = Array.from({ length: count + came }, (_, index) => count + came - index);
      expect(await walk(['queued'])).toEqual(all.filter((number) => number % 10 === 0));
    });
  });
};

manyRuns('memory', { count: 20_000, limit: 500 }, async (filling) => {
  const views = sqliteViews();
  await views.save(filling);
  return { views, [Symbol.asyncDispose]: async () => undefined };
});

describeWithMongo('with a server', () => {
  manyRuns('MongoDB', { count: 500, limit: 40 }, async (filling) => {
    await using opened = new AsyncDisposableStack();
    const url = mongoUrl(opened.use(await testMongo()));
    const views = opened.use(openViews(url, { readWithinMs: 10_000 }));
    await views.resetTo(
      beginningOf({ created: '2026-01-01T00:00:00.000000001Z', since: '2026-01-01T00:00:00.000000001Z' }, 1),
    );
    await insertViews(url, filling);
    const kept = opened.move();
    return { views, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  });
});

it('lists runs that arrive late in the right order, in memory too', async () => {
  const views = sqliteViews();
  const org = orgId(newUuid());
  const runs = Array.from({ length: 1_000 }, smallRuns(org));
  const shuffled = runs.toSorted((one, other) =>
    one.run.run_id.slice(-12) < other.run.run_id.slice(-12) ? -1 : 1,
  );
  for (const view of shuffled) await views.save([view]);
  const { items } = await views.listRuns({ org_id: org, limit: 1_000 });
  expect(items).toEqual(runs.toReversed());
});
