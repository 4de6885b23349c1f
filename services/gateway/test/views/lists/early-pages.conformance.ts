import { newUuid, orgId } from '@runledger/contracts/ids';
import { aRun, queued } from '@runledger/testing/run-events';
import { webhookGivenUp, webhookStarted } from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunView } from '../../../src/views/run-view.ts';
import { everyPage } from '../../fixtures/requests/every-page.ts';
import { aView, folded, foldedWebhook, timeOf } from '../../fixtures/runs/folded-runs.ts';
import type { OpenedViews, OpenViews } from '../open-views.ts';

const COUNT = 25;
const MATCHING = [3, 4, 20];
const url = (host: string) => `https://${host}/hook`;

/** Every reading is an hour after the one before, so every search takes too long. */
const hurryingClock = (): (() => number) => {
  let hours = 0;
  return () => (hours += 1) * 3_600_000;
};

/** Pages that end before they are full, in every adapter. */
export const earlyPagesConformance = (open: OpenViews): void => {
  describe('with filters that few runs match together', () => {
    const org = orgId(newUuid());
    let opened: OpenedViews;

    const filling = Array.from({ length: COUNT }, (_, index) => {
      const number = index + 1;
      const [isEven, isMatching] = [number % 2 === 0, MATCHING.includes(number)];
      const key = aRun(org);
      const event = queued(key, {
        gpu: isEven || isMatching ? 'H100' : 'T4',
        origin: isEven && !isMatching ? 'api' : 'replay',
        webhook: url(isEven || isMatching ? 'even.example' : 'odd.example'),
      });
      const facts = [webhookStarted(key), webhookGivenUp(key)].slice(0, isEven && !isMatching ? 1 : 2);
      const run = { ...folded(event), number, created_at: timeOf(number) };
      return aView(number, run, foldedWebhook(100 + number, ...facts));
    });
    /** Runs between 4 and 20, which match one filter of each list. A page searches half of them, and finds nothing. */
    const between = (searched: number): RunView[] => {
      const key = aRun(org);
      const run = folded(queued(key, { gpu: 'T4', origin: 'replay', webhook: url('even.example') }));
      const webhook = foldedWebhook(100, webhookStarted(key));
      return Array.from({ length: 2 * searched }, (_, index) =>
        aView(
          1,
          { ...run, run_id: aRun(org).run_id, number: 1_000 + index, created_at: timeOf(10) },
          webhook,
        ),
      );
    };
    beforeAll(async () => {
      opened = await open(hurryingClock());
      await opened.views.save(filling);
      await opened.fill(between(opened.searched));
    });
    afterAll(() => opened[Symbol.asyncDispose]());

    it.each([1, 2, 3, 100])('ends pages of %d early, even empty, and skips nothing', async (limit) => {
      const runs = await everyPage((behind) =>
        opened.views.listRuns({ org_id: org, limit, gpu: 'H100', origin: 'replay', ...behind }),
      );
      expect(runs.flat().map(({ run }) => run.number)).toEqual([20, 4, 3]);
      expect(runs).toContainEqual([]);
      const rows = await everyPage((behind) =>
        opened.views.listWebhooks({
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

    it('ends the pages at the end of a span of time', async () => {
      const span = { createdAfter: new Date(timeOf(4)), createdBefore: new Date(timeOf(20)) };
      const pages = await everyPage((behind) =>
        opened.views.listRuns({ org_id: org, limit: 10, gpu: 'H100', origin: 'replay', ...span, ...behind }),
      );
      expect(pages.flat().map(({ run }) => run.number)).toEqual([4]);
    });

    it('ends a list that no run matches', async () => {
      const pages = await everyPage((behind) =>
        opened.views.listRuns({ org_id: org, limit: 10, gpu: 'H100', statuses: ['started'], ...behind }),
      );
      expect(pages.flat()).toEqual([]);
      expect(pages.length).toBeLessThanOrEqual(COUNT);
    });
  });
};
