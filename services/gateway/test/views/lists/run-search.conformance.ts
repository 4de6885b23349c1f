import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { aRun, assigned, failed, queued, started } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunQuery } from '../../../src/views/list-query.decide.ts';
import { isFound, searchWord } from '../../../src/views/run-search.decide.ts';
import { createdAtIn } from '../../../src/views/sort-key.decide.ts';
import type { RunViews } from '../../../src/views/run-views.ts';
import { everyPage } from '../../fixtures/requests/every-page.ts';
import { aView, folded, timeOf } from '../../fixtures/runs/folded-runs.ts';
import type { OpenedViews, OpenViews } from '../open-views.ts';

type Request = Parameters<typeof queued>[1];

const LONG = `${'long '.repeat(39)}words`;
const REQUESTS: readonly Request[] = [
  { inputs: { prompt: 'A Red FOX\n in  the snow', seed: 4711 }, tags: ['customer:17'] },
  { inputs: { prompt: '100% of a_b, (.*) [x] ^$ \\d |?+{2}' } },
  { inputs: { Straße: 'ÄRGER ΟΔΟΣ ﬁn' }, gpu: 'H100' },
  { inputs: { nested: [{ deep: ['Needle', true] }], list: ['red', 'fox'] } },
  { inputs: { secret: 'hush', open: 'told' }, secret_inputs: ['secret'], tags: ['red'] },
  { inputs: { text: LONG } },
  { inputs: { ref: '0192abcd-0000-7000-8000-00000000000f' } },
  {},
];

/** Searches of runs, in every adapter. */
export const runSearchConformance = (views: () => RunViews, open: OpenViews): void => {
  describe('searches of runs', () => {
    const org = orgId(newUuid());
    const ofNamed = newUuid();
    const ids = REQUESTS.map((_, index) => runId(`0192aaaa-bbb${index}-7000-8000-${'0'.repeat(11)}${index}`));
    beforeAll(async () => {
      const saved = REQUESTS.map((request, index) => {
        const key = { org_id: org, run_id: runId(ids[index] ?? '') };
        const event = queued(key, { ...request, ...(index === 7 && { deployment_id: ofNamed }) });
        const facts: RunEvent[] = index === 7 ? [assigned(key), started(key), failed(key)] : [];
        return aView(9, { ...folded(event, ...facts), number: index, created_at: timeOf(index) });
      });
      await views().save(saved);
      const theirs = { org_id: aRun().org_id, run_id: runId('0192aaaa-bbb9-7000-8000-000000000000') };
      await views().save([aView(1, folded(queued(theirs, { ...REQUESTS[0], deployment_id: ofNamed })))]);
    });
    const page = (text: string, query: Partial<RunQuery> = {}) =>
      views().listRuns({
        org_id: org,
        limit: 100,
        search: { text: searchWord(text), deploymentIds: [] },
        ...query,
      });
    const numbers = async (text: string, query: Partial<RunQuery> = {}) =>
      (await page(text, query)).items.map(({ run }) => run.number);

    it.each([
      ['red fox IN THE', [0]],
      ['  fox\tin ', [0]],
      ['FOX', [3, 0]],
      ['prompt', [1, 0]],
      ['4711', [0]],
      ['customer:17', [0]],
      ['red', [4, 3, 0]],
      ['0%', [1]],
      ['%', [1]],
      ['a_b', [1]],
      ['_', [1]],
      ['a.b', []],
      ['.', [1]],
      ['.*', [1]],
      ['(.*) [X]', [1]],
      ['^$ \\d |?+{2}', [1]],
      ['\\D', [1]],
      ['STRASSE', [2]],
      ['straße', [2]],
      ['ärger οδος', [2]],
      ['οδοσ Fin', [2]],
      ['needle', [3]],
      ['deep', [3]],
      ['hush', []],
      ['secret', [4]],
      ['told', [4]],
      ['red\nfox', [0]],
      [LONG, [5]],
      ['nowhere', []],
    ])('find %j in what runs %j say', async (text, found) => {
      expect(await numbers(text)).toEqual(found);
      const { counts } = await views().countRuns({
        org_id: org,
        search: { text: searchWord(text), deploymentIds: [] },
      });
      expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(found.length);
    });

    it('find a run by the message of its error, also one that was saved before', async () => {
      const key = { org_id: org, run_id: runId('0192cccc-0000-7000-8000-000000000001') };
      const [event, given, begun, end] = [queued(key), assigned(key), started(key), failed(key)];
      const message = end.data.error.message;
      await views().save([aView(3, folded(event, given, begun))]);
      const before = await numbers(message, { tags: [], createdAfter: new Date(timeOf(0)) });
      await views().save([aView(4, folded(event, given, begun, end))]);
      expect((await numbers(message)).length).toBe(before.length + 1);
    });

    it('find runs by the beginning of their ids, and never those of others', async () => {
      expect(await numbers('0192aaaa')).toEqual([7, 6, 5, 4, 3, 2, 1, 0]);
      expect(await numbers('0192AAAA-BBB3')).toEqual([3]);
      expect(await numbers(ids[6] ?? '')).toEqual([6]);
      expect(await numbers('0192aaaa-bbb9')).toEqual([]);
      expect(await numbers('0192aaaa', { gpu: 'H100' })).toEqual([2]);
      expect(await numbers('0192aaaa', { createdBefore: new Date(timeOf(2)) })).toEqual([1, 0]);
      expect(await numbers('0192aaaa', { statuses: [] })).toEqual([]);
      const pages = await everyPage((behind) => page('0192aaaa', { limit: 3, ...behind }));
      expect(pages.map((one) => one.map(({ run }) => run.number))).toEqual([
        [7, 6, 5],
        [4, 3, 2],
        [1, 0],
      ]);
      const search = { text: '0192aaaa', deploymentIds: [] };
      expect(await views().countRuns({ org_id: org, search })).toMatchObject({
        counts: { queued: 7, failed: 1 },
        isComplete: true,
      });
    });

    it('look for an id that no run has in what runs say', async () => {
      expect(await numbers('0192abcd-0000-7000-8000-00000000000F')).toEqual([6]);
      expect(await numbers('0192abcd')).toEqual([6]);
    });

    it('find the runs of deployments whose names have the text', async () => {
      const search = { text: 'fox', deploymentIds: [ofNamed, newUuid()] };
      expect(await numbers('', { search })).toEqual([7, 3, 0]);
      expect(await numbers('', { search, statuses: ['failed'] })).toEqual([7]);
    });

    it('match with every other filter', async () => {
      expect(await numbers('red', { tags: ['red'] })).toEqual([4]);
      expect(await numbers('red', { statuses: ['queued'], tags: ['customer:17'] })).toEqual([0]);
      expect(await numbers('fin', { gpu: 'H100' })).toEqual([2]);
      expect(await numbers('fox', { createdAfter: new Date(timeOf(1)) })).toEqual([3]);
      expect(await numbers('fox', { statuses: ['failed', 'success'] })).toEqual([]);
      expect(await numbers('fox', { statuses: ['queued', 'success'], limit: 1 })).toEqual([3]);
    });

    it('find what the view of each run says', async () => {
      const all = (await views().listRuns({ org_id: org, limit: 100 })).items;
      for (const text of ['fox', '0192aaaa', 'straße', ids[2] ?? '']) {
        const search = { text: searchWord(text), deploymentIds: [] };
        expect((await page(text)).items).toEqual(all.filter(({ run }) => isFound(run, search)));
      }
    });

    it('find nothing of a run whose order or content a replaced log changed', async () => {
      const key = aRun(orgId(newUuid()));
      const found = (text: string) => numbers(text, { org_id: key.org_id });
      const run = folded(queued(key, { inputs: { a: 'before' } }));
      await views().save([aView(1, { ...run, number: 900 })]);
      const now = folded(queued(key, { inputs: { a: 'after' } }));
      await views().save([aView(1, { ...now, number: 400 })]);
      expect([await found('before'), await found('after')]).toEqual([[], [400]]);
    });
  });

  describe('a search that takes too long', () => {
    const org = orgId(newUuid());
    let opened: OpenedViews;
    beforeAll(async () => {
      let hours = 0;
      opened = await open(() => (hours += 1) * 3_600_000);
      const run = folded(queued(aRun(org)));
      const of = (number: number, inputs = {}) => ({
        ...folded(queued(aRun(org), { inputs })),
        number,
        created_at: timeOf(number),
      });
      await opened.views.save([aView(1, of(1, { a: 'needle' }))]);
      await opened.fill(
        Array.from({ length: 2 * opened.searched }, (_, index) =>
          aView(1, { ...run, run_id: aRun(org).run_id, number: 10 + index, created_at: timeOf(10 + index) }),
        ),
      );
    });
    afterAll(() => opened[Symbol.asyncDispose]());

    it('ends its page, says how far it came, and goes on from there', async () => {
      const search = { text: 'needle', deploymentIds: [] };
      const first = await opened.views.listRuns({ org_id: org, limit: 5, search });
      if (first.end === undefined) throw new Error('the search was not bounded');
      expect(first.items).toEqual([]);
      const searched = 10 + 2 * opened.searched - opened.searched;
      expect(createdAtIn(first.end)).toBe(timeOf(searched));
      const pages = await everyPage((behind) =>
        opened.views.listRuns({ org_id: org, limit: 5, search, ...behind }),
      );
      expect(pages.flat().map(({ run }) => run.number)).toEqual([1]);
    });
  });
};
