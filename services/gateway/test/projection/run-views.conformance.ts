import { newUuid, orgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WEBHOOK_STATUSES } from '../../src/projection/core/webhook-status.ts';
import { sortKeyOf } from '../../src/projection/core/sort-key.ts';
import type { RunQuery, RunViews, WebhookQuery } from '../../src/projection/run-views.ts';
import type { RunView } from '../../src/projection/core/run-view.ts';
import { everyPage } from '../fixtures/requests/every-page.ts';
import { aView, folded, foldedWebhook, timeOf } from '../fixtures/runs/folded-runs.ts';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/events/run-events';
import {
  redeliveryRequested,
  webhookDelivered,
  webhookGivenUp,
  webhookStarted,
} from '@runledger/testing/events/webhook-events';

interface OpenedViews extends AsyncDisposable {
  readonly views: RunViews;
}

/** Opens empty views, whose pages are made of so many runs that were looked at, where that is said. */
type OpenViews = (lookAt?: number) => Promise<OpenedViews>;

/** What every adapter of RunViews does, whatever it keeps them in. */
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

    it('go back in neither of the two chains, and forward in each', async () => {
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
      const forged = aView(900, { ...view.run, org_id: aRun().org_id });
      await views.save([forged]);
      expect(await views.find(view.run)).toEqual(view);
      expect(await views.find(forged.run)).toBeUndefined();
    });

    it('keep names and values as they are, whatever they mean elsewhere', async () => {
      const inputs = JSON.parse(
        '{"__proto__":["x"],"$ref":"a","a.b":[{"_bsontype":"ObjectId","$oid":1,"":2}],"b\\u0000c":-0.0,"10":1,"2":[1e300,9007199254740993],"s":"\\u0000\\ud83d\\ude00"}',
      );
      const key = aRun();
      await views.save([aView(1, folded(queued(key, { inputs })))]);
      const found = await views.find(key);
      expect(JSON.stringify(found?.run.request.inputs)).toBe(JSON.stringify(inputs));
    });

    it('know how far they are, never going back within a log', async () => {
      const log = '2026-01-01T00:00:00.000000001Z';
      const savedAt = async (sequence: number, stream_created = log) =>
        views.savePosition({ stream_created, sequence, event_id: `event-${sequence}` });
      await views.resetTo(log);
      expect(await views.position()).toEqual({ stream_created: log, sequence: 0, event_id: null });
      await savedAt(7);
      await savedAt(5);
      await savedAt(900, 'another log');
      expect(await views.position()).toEqual({ stream_created: log, sequence: 7, event_id: 'event-7' });
    });

    it('are reset: every run may be written again, and the others are kept', async () => {
      const [anew, kept] = [history(), history()];
      await views.save([at(anew, 3), at(kept, 3)]);
      const log = newUuid();
      await views.resetTo(log);
      await views.savePosition({ stream_created: log, sequence: 3, event_id: null });
      expect((await views.position())?.sequence).toBe(3);
      await views.save([{ ...at(anew, 0), head: 2 }]);
      expect(await views.find(at(anew, 0).run)).toEqual({ ...at(anew, 0), head: 2 });
      expect(await views.find(at(kept, 0).run)).toEqual({ ...at(kept, 3), head: 0 });
    });

    it('are reset with the state of the notifications too', async () => {
      const key = aRun();
      const run = folded(queued(key), assigned(key), started(key), succeeded(key));
      const webhook = foldedWebhook(6, webhookStarted(key), webhookDelivered(key));
      await views.save([aView(4, run, webhook)]);
      await views.resetTo(newUuid());
      expect(await views.find(key)).toEqual(aView(0, run, { ...webhook, head: 0 }));
      await views.save([aView(2, run)]);
      expect(await views.find(key)).toEqual(aView(2, run));
    });

    describe('list the runs with a webhook', () => {
      const org = orgId(newUuid());
      const url = (host: string) => `https://${host}/hook?token=secret`;
      const all = WEBHOOK_STATUSES;
      const keys: RunKey[] = [];
      beforeAll(async () => {
        for (let number = 1; number <= 9; number += 1) {
          const key = aRun(org);
          keys.push(key);
          const host = number % 2 === 0 ? 'even.example' : 'odd.example:8443';
          const run = { ...folded(queued(key, { webhook: url(host) })), number, created_at: timeOf(number) };
          const facts = [webhookStarted(key), webhookGivenUp(key)].slice(0, number % 3);
          await views.save([aView(number, run, foldedWebhook(100 + number, ...facts))]);
        }
        await views.save([
          aView(20, { ...folded(queued(aRun(org))), number: 20 }),
          aView(21, folded(queued(aRun(), { webhook: url('even.example') }))),
        ]);
      });
      const numbers = async (query: Partial<WebhookQuery>) =>
        (await views.listWebhooks({ org_id: org, statuses: all, limit: 100, ...query })).items.map(
          ({ number }) => number,
        );

      it('of the organisation, newest first', async () => {
        expect(await numbers({})).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
        expect(await numbers({ limit: 2 })).toEqual([9, 8]);
        expect(await numbers({ org_id: orgId(newUuid()) })).toEqual([]);
      });

      it('with all that a list shows', async () => {
        const { items } = await views.listWebhooks({ org_id: org, statuses: ['failed'], limit: 1 });
        const [row] = items;
        const [, , , , , , , eighth] = keys;
        expect(row).toEqual({
          ...eighth,
          number: 8,
          url: url('even.example'),
          host: 'even.example',
          created_at: timeOf(8),
          updated_at: timeOf(1),
          webhook: expect.objectContaining({ status: 'failed', tries: 13, last_reason: 'server_error' }),
        });
      });

      it('by status, host and time of creation', async () => {
        expect(await numbers({ statuses: ['failed'] })).toEqual([8, 5, 2]);
        expect(await numbers({ statuses: ['not-started', 'running'] })).toEqual([9, 7, 6, 4, 3, 1]);
        expect(await numbers({ statuses: ['success'] })).toEqual([]);
        expect(await numbers({ host: 'even.example' })).toEqual([8, 6, 4, 2]);
        expect(await numbers({ host: 'odd.example:8443', statuses: ['running'] })).toEqual([7, 1]);
        expect(await numbers({ createdAfter: new Date(timeOf(4)) })).toEqual([9, 8, 7, 6, 5, 4]);
        expect(await numbers({ createdBefore: new Date(timeOf(4)) })).toEqual([3, 2, 1]);
      });

      it('from one row on, also when two have one number because a log was replaced', async () => {
        const twins = [aRun(org), aRun(org)].sort((a, b) => (a.run_id < b.run_id ? 1 : -1));
        for (const key of twins) {
          await views.save([
            aView(1, { ...folded(queued(key, { webhook: url('twin.example') })), number: 5 }),
          ]);
        }
        const query = { org_id: org, statuses: all, host: 'twin.example', limit: 1 };
        const first = await views.listWebhooks(query);
        if (first.end === undefined) throw new Error('the second twin is not seen');
        const second = await views.listWebhooks({ ...query, behind: first.end });
        expect([...first.items, ...second.items].map(({ run_id }) => run_id)).toEqual(
          twins.map(({ run_id }) => run_id),
        );
        expect(second.end).toBeUndefined();
        const fifth = sortKeyOf({ run_id: at(keys, 4).run_id, number: 5, created_at: timeOf(5) });
        expect(await numbers({ behind: fifth, host: 'odd.example:8443' })).toEqual([3, 1]);
      });
    });

    describe('list the runs', () => {
      const org = orgId(newUuid());
      const [deployment_id, workflow_id] = [newUuid(), newUuid()];
      beforeAll(async () => {
        for (let number = 1; number <= 6; number += 1) {
          const key = aRun(org);
          const event = queued(key, {
            ...(number % 2 === 0 ? { deployment_id, gpu: 'H100' } : { workflow_id, gpu: 'T4' }),
            origin: number > 4 ? 'replay' : 'api',
          });
          const run = number % 3 === 0 ? folded(event, assigned(key)) : folded(event);
          await views.save([aView(number, { ...run, number, created_at: timeOf(number) })]);
        }
        await views.save([aView(9, folded(queued(aRun(), { deployment_id })))]);
      });
      const page = (query: Partial<RunQuery> = {}) => views.listRuns({ org_id: org, limit: 100, ...query });
      const numbers = async (query: Partial<RunQuery>) =>
        (await page(query)).items.map(({ run }) => run.number);

      it('of the organisation, newest first, whole', async () => {
        expect(await numbers({})).toEqual([6, 5, 4, 3, 2, 1]);
        expect(await numbers({ org_id: orgId(newUuid()) })).toEqual([]);
        const [newest] = (await page()).items;
        if (!newest) throw new Error('there is none');
        expect(newest).toEqual(await views.find(newest.run));
      });

      it('by everything that can be asked for, and by several at once', async () => {
        expect(await numbers({ statuses: ['queued'] })).toEqual([5, 4, 2, 1]);
        expect(await numbers({ statuses: ['queued', 'started'] })).toEqual([6, 5, 4, 3, 2, 1]);
        expect(await numbers({ statuses: [] })).toEqual([]);
        expect(await numbers({ deploymentId: deployment_id })).toEqual([6, 4, 2]);
        expect(await numbers({ workflowId: workflow_id })).toEqual([5, 3, 1]);
        expect(await numbers({ gpu: 'H100' })).toEqual([6, 4, 2]);
        expect(await numbers({ origin: 'replay' })).toEqual([6, 5]);
        expect(await numbers({ gpu: 'T4', statuses: ['started'], workflowId: workflow_id })).toEqual([3]);
        expect(await numbers({ gpu: 'T4', deploymentId: deployment_id })).toEqual([]);
      });

      it('by time of creation: from the one on, and before the other', async () => {
        const time = (number: number) => new Date(timeOf(number));
        expect(await numbers({ createdAfter: time(4) })).toEqual([6, 5, 4]);
        expect(await numbers({ createdBefore: time(4) })).toEqual([3, 2, 1]);
        expect(await numbers({ createdAfter: time(2), createdBefore: time(4), gpu: 'T4' })).toEqual([3]);
        expect(await numbers({ createdAfter: time(4), createdBefore: time(4) })).toEqual([]);
        const [ever, never] = [new Date(-8.64e15), new Date(8.64e15)];
        expect(await numbers({ createdAfter: ever, createdBefore: never })).toEqual([6, 5, 4, 3, 2, 1]);
        expect(await numbers({ createdAfter: never })).toEqual([]);
        expect(await numbers({ createdBefore: ever })).toEqual([]);
      });

      it('page after page, and say when nothing follows', async () => {
        for (const limit of [1, 2, 3, 4, 6, 7]) {
          const pages = await everyPage((behind) => page({ limit, ...behind }));
          expect(pages.flat().map(({ run }) => run.number)).toEqual([6, 5, 4, 3, 2, 1]);
          expect(pages).toHaveLength(Math.ceil(6 / limit));
        }
        const { end } = await page({ limit: 2 });
        if (end === undefined) throw new Error('the rest is not seen');
        expect(await numbers({ behind: end, createdBefore: new Date(timeOf(3)) })).toEqual([2, 1]);
        expect(await numbers({ behind: end, createdBefore: new Date(timeOf(6)) })).toEqual([4, 3, 2, 1]);
        expect(await numbers({ behind: end, createdAfter: new Date(timeOf(4)) })).toEqual([4]);
      });

      it('as they are now', async () => {
        const key = aRun(orgId(newUuid()));
        const [waiting, given] = [queued(key), assigned(key)];
        const listed = async (statuses: RunQuery['statuses'] & {}) =>
          (await page({ org_id: key.org_id, statuses })).items;
        await views.save([aView(1, folded(waiting))]);
        expect(await listed(['started'])).toEqual([]);
        await views.save([aView(2, folded(waiting, given))]);
        expect(await listed(['queued'])).toEqual([]);
        expect(await listed(['started'])).toEqual([aView(2, folded(waiting, given))]);
      });

      it('once, also when a log was replaced in which the run had another number', async () => {
        const key = aRun(orgId(newUuid()));
        const other = folded(queued(aRun(key.org_id)));
        const run = folded(queued(key));
        await views.save([aView(1, { ...run, number: 900 }), aView(1, { ...other, number: 500 })]);
        await views.save([aView(1, { ...run, number: 400 })]);
        const listed = (await page({ org_id: key.org_id })).items;
        expect(listed.map(({ run: { number } }) => number)).toEqual([500, 400]);
      });

      it('in pages that end early where runs are large', async () => {
        const large = orgId(newUuid());
        const inputs = { text: 'x'.repeat(8.1 * 1024 * 1024) };
        await views.save(
          [1, 2, 3, 4, 5].map((number) => {
            const event = queued(aRun(large), number === 3 ? { inputs } : {});
            return aView(1, { ...folded(event), number });
          }),
        );
        const pages = await everyPage((behind) => page({ org_id: large, ...behind }));
        expect(pages.map((one) => one.map(({ run }) => run.number))).toEqual([[5, 4], [3], [2, 1]]);
      });
    });

    describe('where filters rarely meet', () => {
      const org = orgId(newUuid());
      const url = (host: string) => `https://${host}/hook`;
      const count = 25;
      let few: OpenedViews;
      beforeAll(async () => {
        few = await open(3);
        const filling = Array.from({ length: count }, (_, index) => {
          const number = index + 1;
          const [isEven, isBoth] = [number % 2 === 0, [3, 4, 20].includes(number)];
          const key = aRun(org);
          const event = queued(key, {
            gpu: isEven || isBoth ? 'H100' : 'T4',
            origin: isEven && !isBoth ? 'api' : 'replay',
            webhook: url(isEven || isBoth ? 'even.example' : 'odd.example'),
          });
          const facts = [webhookStarted(key), webhookGivenUp(key)].slice(0, isEven && !isBoth ? 1 : 2);
          const run = { ...folded(event), number, created_at: timeOf(number) };
          return aView(number, run, foldedWebhook(100 + number, ...facts));
        });
        await few.views.save(filling);
      });
      afterAll(() => few[Symbol.asyncDispose]());

      it.each([1, 2, 3, 100])('pages of %d end early, even empty, and nothing is skipped', async (limit) => {
        const runs = await everyPage((behind) =>
          few.views.listRuns({ org_id: org, limit, gpu: 'H100', origin: 'replay', ...behind }),
        );
        expect(runs.flat().map(({ run }) => run.number)).toEqual([20, 4, 3]);
        expect(runs).toContainEqual([]);
        const rows = await everyPage((behind) =>
          few.views.listWebhooks({
            org_id: org,
            limit,
            host: 'even.example',
            statuses: ['failed'],
            ...behind,
          }),
        );
        expect(rows.flat().map(({ number }) => number)).toEqual([20, 4, 3]);
        expect(rows).toContainEqual([]);
      });

      it('a span of time ends the pages', async () => {
        const span = { createdAfter: new Date(timeOf(4)), createdBefore: new Date(timeOf(20)) };
        const pages = await everyPage((behind) =>
          few.views.listRuns({ org_id: org, limit: 10, gpu: 'H100', origin: 'replay', ...span, ...behind }),
        );
        expect(pages.flat().map(({ run }) => run.number)).toEqual([4]);
      });

      it('pages that nothing fits have an end', async () => {
        const pages = await everyPage((behind) =>
          few.views.listRuns({ org_id: org, limit: 10, gpu: 'H100', statuses: ['started'], ...behind }),
        );
        expect(pages.flat()).toEqual([]);
        expect(pages.length).toBeLessThanOrEqual(count);
      });
    });

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
  });
};
