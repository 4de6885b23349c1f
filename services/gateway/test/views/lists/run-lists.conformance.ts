import { newUuid, orgId } from '@runledger/contracts/ids';
import { aRun, assigned, queued } from '@runledger/testing/run-events';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunViews } from '../../../src/views/run-views.ts';
import type { RunQuery } from '../../../src/views/list-query.decide.ts';
import { everyPage } from '../../fixtures/requests/every-page.ts';
import { aView, folded, timeOf } from '../../fixtures/runs/folded-runs.ts';

/** Lists of runs, in every adapter. */
export const runListsConformance = (views: () => RunViews): void => {
  describe('lists of runs', () => {
    const org = orgId(newUuid());
    const [deployment_id, workflow_id, scheduleId] = [newUuid(), newUuid(), newUuid()];
    beforeAll(async () => {
      for (let number = 1; number <= 6; number += 1) {
        const key = aRun(org);
        const gpu = number % 2 === 0 ? 'H100' : 'T4';
        const event = queued(key, {
          ...(number % 2 === 0 ? { deployment_id } : { workflow_id }),
          gpu,
          origin: number > 4 ? 'replay' : 'api',
          ...(number > 4 && { schedule: { id: scheduleId, time: timeOf(number) } }),
          ...(number > 2 && { tags: number === 4 ? ['a'] : ['a', 'b:1'] }),
        });
        const run = number % 3 === 0 ? folded(event, assigned(key, { data: { gpu } })) : folded(event);
        await views().save([aView(number, { ...run, number, created_at: timeOf(number) })]);
      }
      await views().save([aView(9, folded(queued(aRun(), { deployment_id })))]);
    });
    const page = (query: Partial<RunQuery> = {}) => views().listRuns({ org_id: org, limit: 100, ...query });
    const numbers = async (query: Partial<RunQuery>) =>
      (await page(query)).items.map(({ run }) => run.number);

    it('have the complete runs of the organisation, newest first', async () => {
      expect(await numbers({})).toEqual([6, 5, 4, 3, 2, 1]);
      expect(await numbers({ org_id: orgId(newUuid()) })).toEqual([]);
      const [newest] = (await page()).items;
      if (!newest) throw new Error('there is none');
      expect(newest).toEqual(await views().find(newest.run));
    });

    it('match every filter, and several at once', async () => {
      expect(await numbers({ statuses: ['queued'] })).toEqual([5, 4, 2, 1]);
      expect(await numbers({ statuses: ['queued', 'started'] })).toEqual([6, 5, 4, 3, 2, 1]);
      expect(await numbers({ statuses: [] })).toEqual([]);
      expect(await numbers({ statuses: [], tags: ['a'] })).toEqual([]);
      expect(await numbers({ deploymentId: deployment_id })).toEqual([6, 4, 2]);
      expect(await numbers({ workflowId: workflow_id })).toEqual([5, 3, 1]);
      expect(await numbers({ gpu: 'H100' })).toEqual([6, 4, 2]);
      expect(await numbers({ origin: 'replay' })).toEqual([6, 5]);
      expect(await numbers({ tags: ['a'] })).toEqual([6, 5, 4, 3]);
      expect(await numbers({ tags: ['b:1'], limit: 2 })).toEqual([6, 5]);
      expect(await numbers({ tags: ['a', 'b:1'] })).toEqual([6, 5, 3]);
      expect(await numbers({ tags: ['b'] })).toEqual([]);
      expect(await numbers({ tags: ['a'], org_id: orgId(newUuid()) })).toEqual([]);
      expect(await numbers({ tags: ['b:1'], gpu: 'T4', createdBefore: new Date(timeOf(5)) })).toEqual([3]);
      expect(await numbers({ tags: ['a'], statuses: ['queued'] })).toEqual([5, 4]);
      expect(await numbers({ scheduleId })).toEqual([6, 5]);
      expect(await numbers({ scheduleId, tags: ['a'], statuses: ['queued'] })).toEqual([5]);
      expect(await numbers({ scheduleId: newUuid() })).toEqual([]);
      expect(await numbers({ gpu: 'T4', statuses: ['started'], workflowId: workflow_id })).toEqual([3]);
      expect(await numbers({ gpu: 'T4', deploymentId: deployment_id })).toEqual([]);
    });

    it('match a span of creation times', async () => {
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

    it('come in pages, and show when nothing follows', async () => {
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

    it('show runs as they are now', async () => {
      const key = aRun(orgId(newUuid()));
      const [waiting, given] = [queued(key), assigned(key)];
      const listed = async (statuses: RunQuery['statuses'] & {}) =>
        (await page({ org_id: key.org_id, statuses })).items;
      await views().save([aView(1, folded(waiting))]);
      expect(await listed(['started'])).toEqual([]);
      await views().save([aView(2, folded(waiting, given))]);
      expect(await listed(['queued'])).toEqual([]);
      expect(await listed(['started'])).toEqual([aView(2, folded(waiting, given))]);
    });

    it('find a run by the GPU model that it got, and not by the one that it preferred', async () => {
      const key = aRun(orgId(newUuid()));
      const gpu_fallbacks = [{ gpu: 'A10G' as const, after_s: 0 }];
      const waiting = queued(key, { gpu: 'L4', gpu_fallbacks });
      const given = assigned(key, { data: { gpu: 'A10G' } });
      const heads = async (gpu: 'L4' | 'A10G') =>
        (await page({ org_id: key.org_id, gpu })).items.map(({ head }) => head);
      await views().save([aView(1, folded(waiting))]);
      expect([await heads('L4'), await heads('A10G')]).toEqual([[1], []]);
      await views().save([aView(2, folded(waiting, given))]);
      expect([await heads('L4'), await heads('A10G')]).toEqual([[], [2]]);
    });

    it('have each run once, also when a replaced log gave it another number', async () => {
      const key = aRun(orgId(newUuid()));
      const other = folded(queued(aRun(key.org_id)));
      const run = folded(queued(key));
      await views().save([aView(1, { ...run, number: 900 }), aView(1, { ...other, number: 500 })]);
      await views().save([aView(1, { ...run, number: 400 })]);
      const listed = (await page({ org_id: key.org_id })).items;
      expect(listed.map(({ run: { number } }) => number)).toEqual([500, 400]);
    });

    it('end pages early when runs are large', async () => {
      const large = orgId(newUuid());
      const inputs = { text: 'x'.repeat(8.1 * 1024 * 1024) };
      await views().save(
        [1, 2, 3, 4, 5].map((number) => {
          const event = queued(aRun(large), number === 3 ? { inputs } : {});
          return aView(1, { ...folded(event), number });
        }),
      );
      const pages = await everyPage((behind) => page({ org_id: large, ...behind }));
      expect(pages.map((one) => one.map(({ run }) => run.number))).toEqual([[5, 4], [3], [2, 1]]);
    });
  });
};
