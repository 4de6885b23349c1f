import { beginningOf } from '../../src/views/projection-start.decide.ts';
import { NO_RUNS } from '@runledger/contracts/fold/log-capacity';
import { newUuid, orgId } from '@runledger/contracts/ids';
import {
  aRun,
  assigned,
  EXECUTOR,
  queued,
  started,
  succeeded,
  uploading,
} from '@runledger/testing/run-events';
import {
  redeliveryRequested,
  webhookDelivered,
  webhookGivenUp,
  webhookStarted,
} from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { existing, type RunView } from '../../src/views/run-view.ts';
import type { RunViews } from '../../src/views/run-views.ts';
import { aView, folded, foldedWebhook } from '../fixtures/runs/folded-runs.ts';
import { anImage, anOutput } from '../fixtures/runs/an-output.ts';
import type { OpenedViews, OpenViews } from './open-views.ts';
import { deletedViewsConformance } from './deleted-views.conformance.ts';
import { earlyPagesConformance } from './lists/early-pages.conformance.ts';
import { oldRunsConformance } from './lists/old-runs.conformance.ts';
import { runActivityConformance } from './lists/run-activity.conformance.ts';
import { runCountsConformance } from './lists/run-counts.conformance.ts';
import { runListsConformance } from './lists/run-lists.conformance.ts';
import { runSearchConformance } from './lists/run-search.conformance.ts';
import { runReferencesConformance } from './run-references.conformance.ts';
import { webhookListsConformance } from './lists/webhook-lists.conformance.ts';

/** What every adapter of RunViews does. */
export const runViewsConformance = (name: string, open: OpenViews): void => {
  describe(`run views in ${name}`, () => {
    let opened: OpenedViews;
    let views: RunViews;
    beforeAll(async () => {
      opened = await open();
      ({ views } = opened);
    });
    afterAll(() => opened[Symbol.asyncDispose]());

    const history = (key = aRun()): RunView[] => {
      const events = [queued(key), assigned(key), started(key), succeeded(key)];
      return events.map((_, index) => aView((index + 1) * 10, folded(...events.slice(0, index + 1))));
    };
    const at = <Thing>(things: readonly Thing[], index: number): Thing => {
      const thing = things[index];
      if (thing === undefined) throw new Error(`there is none at ${index}`);
      return thing;
    };

    it('return what was saved', async () => {
      const view = at(history(), 3);
      await views.save([view]);
      expect(await views.find(view.run)).toEqual(view);
      expect(await views.load([view.run, aRun()])).toEqual([view]);
    });

    it('have no unsaved run, and none of another organisation', async () => {
      const view = at(history(), 0);
      await views.save([view]);
      expect(await views.find(aRun())).toBeUndefined();
      const theirs = { run_id: view.run.run_id, org_id: aRun().org_id };
      expect(await views.find(theirs)).toBeUndefined();
      expect(await views.load([theirs])).toEqual([]);
      expect(await views.load([])).toEqual([]);
    });

    it('never go back', async () => {
      const steps = history();
      await views.save([at(steps, 2)]);
      await views.save([at(steps, 1)]);
      expect(await views.find(at(steps, 0).run)).toEqual(at(steps, 2));
      await views.save([at(steps, 2)]);
      expect(await views.find(at(steps, 0).run)).toEqual(at(steps, 2));
    });

    it('never go back in one chain while they go forward in the other', async () => {
      const key = aRun();
      const run = folded(queued(key), assigned(key), started(key), succeeded(key));
      const facts = [webhookStarted(key), webhookGivenUp(key), redeliveryRequested(key)];
      const steps = [
        aView(4, run),
        ...facts.map((_, index) => aView(4, run, foldedWebhook(5 + index, ...facts.slice(0, index + 1)))),
      ];
      for (const [index, step] of steps.entries()) {
        await views.save([step]);
        for (const earlier of steps.slice(0, index)) await views.save([earlier]);
        expect(await views.find(key)).toEqual(step);
        expect(await views.load([key])).toEqual([step]);
      }
      await views.save([aView(3, run, at(steps, 3).webhook), aView(9, run, at(steps, 2).webhook)]);
      expect(await views.find(key)).toEqual(at(steps, 3));
    });

    it('accept the fresh views of a batch with stale ones', async () => {
      const [stale, behind, absent] = [history(), history(), history()];
      await views.save([at(stale, 3), at(behind, 0)]);
      await views.save([at(stale, 1), at(behind, 1), at(absent, 0)]);
      const heads = async () =>
        Promise.all([stale, behind, absent].map(async (run) => (await views.find(at(run, 0).run))?.head));
      expect(await heads()).toEqual([40, 20, 10]);
    });

    it('have the same result when the same views are saved at once, in any order', async () => {
      const runs = Array.from({ length: 5 }, () => history());
      const all = runs.flat();
      await Promise.all([
        ...all.map((view) => views.save([view])),
        views.save(runs.map((run) => at(run, 3))),
        ...all.toReversed().map((view) => views.save([view])),
      ]);
      for (const run of runs) expect(await views.find(at(run, 0).run)).toEqual(at(run, 3));
    });

    it('ignore a run of another organisation with the same id', async () => {
      const view = at(history(), 1);
      await views.save([view]);
      const forged = aView(900, { ...view.run, org_id: aRun().org_id });
      await views.save([forged]);
      expect(await views.find(view.run)).toEqual(view);
      expect(await views.find(forged.run)).toBeUndefined();
    });

    it('keep names and values unchanged, also those with a meaning in BSON', async () => {
      const inputs = JSON.parse(
        '{"__proto__":["x"],"$ref":"a","a.b":[{"_bsontype":"ObjectId","$oid":1,"":2}],"b\\u0000c":-0.0,"10":1,"2":[1e300,9007199254740993],"s":"\\u0000\\ud83d\\ude00"}',
      );
      const key = aRun();
      await views.save([aView(1, folded(queued(key, { inputs })))]);
      const found = await views.find(key);
      expect(JSON.stringify(found && existing(found)?.run.request.inputs)).toBe(JSON.stringify(inputs));
    });

    const log = '2026-01-01T00:00:00.000000001Z';
    const positionAt = (sequence: number, stream_created = log) => ({
      stream_created,
      derivation: 1,
      derived_from: log,
      sequence,
      event_id: sequence === 0 ? null : `event-${sequence}`,
      counts: sequence === 0 ? NO_RUNS : { from: 1, live: sequence, executing: sequence - 1 },
      missed: sequence === 20 ? { after: 3, up_to: 8, of: ['an organisation'] } : null,
    });

    it('store the views with which their position moves, unless they are stale', async () => {
      const [run, later] = [history(), history()];
      await views.resetTo(beginningOf({ created: log, since: log }, 1));
      await views.save([at(later, 3)]);
      expect(await views.advance([at(run, 0), at(later, 1)], positionAt(0), positionAt(20))).toBe(true);
      expect(await views.load([at(run, 0).run, at(later, 0).run])).toEqual([at(run, 0), at(later, 3)]);
      expect(await views.position()).toEqual(positionAt(20));
      expect(await views.advance([], positionAt(20), { ...positionAt(20), missed: null })).toBe(true);
      expect(await views.position()).toEqual({ ...positionAt(20), missed: null });
    });

    it('store nothing with which another position than theirs would move', async () => {
      const [run, later] = [history(), history()];
      await views.resetTo(beginningOf({ created: log, since: log }, 1));
      await views.save([at(later, 0)]);
      expect(await views.advance([at(run, 0), at(later, 1)], positionAt(7), positionAt(20))).toBe(false);
      expect(await views.load([at(run, 0).run, at(later, 0).run])).toEqual([at(later, 0)]);
    });

    it('move their position from exactly the one that it is', async () => {
      const at = positionAt;
      await views.resetTo(beginningOf({ created: log, since: log }, 1));
      expect(await views.position()).toEqual(at(0));
      expect(await views.advance([], at(0), at(7))).toBe(true);
      expect(await views.advance([], at(0), at(9))).toBe(false);
      expect(await views.advance([], { ...at(7), event_id: 'another' }, at(9))).toBe(false);
      expect(await views.advance([], at(7, 'another log'), at(900, 'another log'))).toBe(false);
      expect(await views.advance([], { ...at(7), derivation: 2 }, at(9))).toBe(false);
      expect(await views.position()).toEqual(at(7));
      expect(await views.advance([], at(7), at(9))).toBe(true);
      expect(await views.position()).toEqual(at(9));
    });

    it('accept every run again after a reset, and keep the others', async () => {
      const [again, kept] = [history(), history()];
      await views.save([at(again, 3), at(kept, 3)]);
      const log = newUuid();
      await views.resetTo(beginningOf({ created: log, since: log }, 1));
      expect(await views.position()).toEqual({
        stream_created: log,
        derivation: 1,
        derived_from: log,
        sequence: 0,
        event_id: null,
        counts: NO_RUNS,
        missed: null,
      });
      await views.save([{ ...at(again, 0), head: 2 }]);
      expect(await views.find(at(again, 0).run)).toEqual({ ...at(again, 0), head: 2 });
      expect(await views.find(at(kept, 0).run)).toEqual({ ...at(kept, 3), head: 0 });
    });

    it('list a run by what its first fact says in the log that it was derived from last', async () => {
      const key = aRun();
      const [before, now] = [newUuid(), newUuid()];
      const inLog = (deployment_id: string) => folded(queued(key, { deployment_id }), assigned(key));
      const listed = async (deploymentId: string) =>
        (await views.listRuns({ org_id: key.org_id, deploymentId, limit: 9 })).items.length;
      await views.save([aView(2, inLog(before))]);
      await views.resetTo(beginningOf({ created: newUuid(), since: newUuid() }, 1));
      await views.save([aView(2, inLog(now))]);
      expect([await listed(before), await listed(now)]).toEqual([0, 1]);
    });

    it('reset the state of the notifications too', async () => {
      const key = aRun();
      const run = folded(queued(key), assigned(key), started(key), succeeded(key));
      const webhook = foldedWebhook(6, webhookStarted(key), webhookDelivered(key));
      await views.save([aView(4, run, webhook)]);
      await views.resetTo(beginningOf({ created: newUuid(), since: newUuid() }, 1));
      expect(await views.find(key)).toEqual(aView(0, run, { ...webhook, head: 0 }));
      await views.save([aView(2, run)]);
      expect(await views.find(key)).toEqual(aView(2, run));
    });

    deletedViewsConformance(() => views);
    runListsConformance(() => views);
    runCountsConformance(() => views);
    runActivityConformance(() => views);
    runReferencesConformance(() => views);
    webhookListsConformance(() => views);
    runSearchConformance(() => views, open);
    earlyPagesConformance(open);
    oldRunsConformance(() => views);

    it('count what is queued, up to a number', async () => {
      const org = orgId(newUuid());
      expect(await views.countQueued(org, 10)).toBe(0);
      const keys = Array.from({ length: 5 }, () => aRun(org));
      const events = keys.map((key) => [queued(key), assigned(key)] as const);
      await views.save(events.map(([waiting]) => aView(1, folded(waiting))));
      await views.save([aView(1, folded(queued(aRun())))]);
      expect([await views.countQueued(org, 10), await views.countQueued(org, 3)]).toEqual([5, 3]);
      const [first, second] = events;
      if (!first || !second) throw new Error('there is none');
      await views.save([aView(2, folded(...first)), aView(2, folded(...second))]);
      await views.save([aView(1, folded(first[0]))]);
      expect(await views.countQueued(org, 10)).toBe(3);
    });

    it('add up the bytes of output files, each run with its latest state', async () => {
      const org = orgId(newUuid());
      const sum = (sinceDay = '2026-01-01') => views.sumOutputBytes(org, sinceDay);
      const bytesOf = (key = aRun(org), bytes = anImage.bytes): RunView[] => {
        const outputs = [{ ...anOutput, data: { images: [{ ...anImage, bytes }], text: ['done'] } }];
        const announced = uploading(key, 1, EXECUTOR, 2 * bytes);
        const events = [queued(key), assigned(key), started(key), announced, succeeded(key, outputs)];
        return events.map((_, index) => aView(index + 1, folded(...events.slice(0, index + 1))));
      };
      expect(await sum()).toBe(0);
      const [first, second, large] = [bytesOf(), bytesOf(), bytesOf(aRun(org), 3_000_000_000)];
      await views.save([at(first, 0), at(second, 0), ...bytesOf(aRun()).slice(4)]);
      expect(await sum()).toBe(0);
      await views.save([at(first, 3)]);
      expect(await sum()).toBe(20);
      await views.save([at(first, 4), at(second, 4), at(large, 4)]);
      await views.save([at(first, 3), at(second, 4)]);
      expect(await sum()).toBe(3_000_000_020);
      const later = at(bytesOf(), 4);
      await views.save([{ ...later, run: { ...later.run, updated_at: '2026-02-03T04:05:06.789Z' } }]);
      expect(await sum()).toBe(3_000_000_030);
      expect([await sum('2026-01-02'), await sum('2026-02-03'), await sum('2026-02-04')]).toEqual([
        10, 10, 0,
      ]);
      await views.resetTo(beginningOf({ created: newUuid(), since: newUuid() }, 1));
      expect(await sum()).toBe(3_000_000_030);
      await views.save([at(first, 0)]);
      expect(await sum()).toBe(3_000_000_020);
    });
  });
};
