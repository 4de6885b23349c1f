import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunView, RunViews } from '../../src/views/run-views.ts';
import { folded } from '../fixtures/folded-runs.ts';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';

export interface OpenedViews extends AsyncDisposable {
  readonly views: RunViews;
}

/** What every adapter of RunViews does, whatever it keeps them in. */
export const runViewsConformance = (name: string, open: () => Promise<OpenedViews>): void => {
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
      return events.map((_, index) => ({
        head: (index + 1) * 10,
        run: folded(...events.slice(0, index + 1)),
      }));
    };
    const at = (history: readonly RunView[], index: number): RunView => {
      const view = history[index];
      if (!view) throw new Error(`the history has no view ${index}`);
      return view;
    };

    it('give back what was saved', async () => {
      const view = at(history(), 3);
      await views.save([view]);
      expect(await views.find(view.run)).toEqual(view);
      expect(await views.load([view.run, aRun()])).toEqual([view]);
    });

    it('have nothing of what was not saved, nor for another organisation', async () => {
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

    it('take the fresh ones of a batch that has stale ones', async () => {
      const [stale, behind, absent] = [history(), history(), history()];
      await views.save([at(stale, 3), at(behind, 0)]);
      await views.save([at(stale, 1), at(behind, 1), at(absent, 0)]);
      const heads = async () =>
        Promise.all([stale, behind, absent].map(async (run) => (await views.find(at(run, 0).run))?.head));
      expect(await heads()).toEqual([40, 20, 10]);
    });

    it('end the same when the same views are saved at once, in any order', async () => {
      const runs = Array.from({ length: 5 }, () => history());
      const all = runs.flat();
      await Promise.all([
        ...all.map((view) => views.save([view])),
        views.save(runs.map((run) => at(run, 3))),
        ...all.toReversed().map((view) => views.save([view])),
      ]);
      for (const run of runs) expect(await views.find(at(run, 0).run)).toEqual(at(run, 3));
    });

    it('take nothing from a run of another organisation with the same id', async () => {
      const view = at(history(), 1);
      await views.save([view]);
      const forged = { head: 900, run: { ...view.run, org_id: aRun().org_id } };
      await views.save([forged]);
      expect(await views.find(view.run)).toEqual(view);
      expect(await views.find(forged.run)).toBeUndefined();
    });

    it('keep names and values as they are, whatever they mean elsewhere', async () => {
      const inputs = JSON.parse(
        '{"__proto__":["x"],"$ref":"a","a.b":[{"_bsontype":"ObjectId","$oid":1,"":2}],"b\\u0000c":-0.0,"10":1,"2":[1e300,9007199254740993],"s":"\\u0000\\ud83d\\ude00"}',
      );
      const key = aRun();
      await views.save([{ head: 1, run: folded(queued(key, { inputs })) }]);
      const found = await views.find(key);
      expect(JSON.stringify(found?.run.request.inputs)).toBe(JSON.stringify(inputs));
    });

    it('know how far they are, never going back within a log', async () => {
      const log = '2026-01-01T00:00:00.000000001Z';
      const savedAt = async (sequence: number, stream_created = log) =>
        views.savePosition({ stream_created, sequence, event_id: `event-${sequence}` });
      await views.startAgain(log);
      expect(await views.position()).toEqual({ stream_created: log, sequence: 0, event_id: null });
      await savedAt(7);
      await savedAt(5);
      await savedAt(900, 'another log');
      expect(await views.position()).toEqual({ stream_created: log, sequence: 7, event_id: 'event-7' });
    });

    it('start again: every run may be written anew, and those that are not are kept', async () => {
      const [anew, kept] = [history(), history()];
      await views.save([at(anew, 3), at(kept, 3)]);
      const log = newUuid();
      await views.startAgain(log);
      await views.savePosition({ stream_created: log, sequence: 3, event_id: null });
      expect((await views.position())?.sequence).toBe(3);
      await views.save([{ ...at(anew, 0), head: 2 }]);
      expect(await views.find(at(anew, 0).run)).toEqual({ ...at(anew, 0), head: 2 });
      expect(await views.find(at(kept, 0).run)).toEqual({ ...at(kept, 3), head: 0 });
    });
  });
};
