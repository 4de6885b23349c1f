import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun, queued } from '@runledger/testing/run-events';
import { webhookGivenUp, webhookStarted } from '@runledger/testing/webhook-events';
import { beforeAll, describe, expect, it } from 'vitest';
import { sortKeyOf } from '../../../src/views/sort-key.decide.ts';
import { WEBHOOK_STATUSES } from '../../../src/views/stored-run.decide.ts';
import type { RunViews } from '../../../src/views/run-views.ts';
import type { WebhookQuery } from '../../../src/views/list-query.decide.ts';
import { aView, folded, foldedWebhook, timeOf } from '../../fixtures/runs/folded-runs.ts';

/** Lists of runs with a webhook, in every adapter. */
export const webhookListsConformance = (views: () => RunViews): void => {
  describe('lists of runs with a webhook', () => {
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
        await views().save([aView(number, run, foldedWebhook(100 + number, ...facts))]);
      }
      await views().save([
        aView(20, { ...folded(queued(aRun(org))), number: 20 }),
        aView(21, folded(queued(aRun(), { webhook: url('even.example') }))),
      ]);
    });
    const numbers = async (query: Partial<WebhookQuery>) =>
      (await views().listWebhooks({ org_id: org, statuses: all, limit: 100, ...query })).items.map(
        ({ number }) => number,
      );

    it('have the runs of the organisation, newest first', async () => {
      expect(await numbers({})).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
      expect(await numbers({ limit: 2 })).toEqual([9, 8]);
      expect(await numbers({ org_id: orgId(newUuid()) })).toEqual([]);
    });

    it('have every member that a list shows', async () => {
      const { items } = await views().listWebhooks({ org_id: org, statuses: ['failed'], limit: 1 });
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

    it('match status, host and time of creation', async () => {
      expect(await numbers({ statuses: ['failed'] })).toEqual([8, 5, 2]);
      expect(await numbers({ statuses: ['not-started', 'running'] })).toEqual([9, 7, 6, 4, 3, 1]);
      expect(await numbers({ statuses: ['success'] })).toEqual([]);
      expect(await numbers({ statuses: [] })).toEqual([]);
      expect(await numbers({ statuses: [], host: 'even.example' })).toEqual([]);
      expect(await numbers({ host: 'even.example' })).toEqual([8, 6, 4, 2]);
      expect(await numbers({ host: 'odd.example:8443', statuses: ['running'] })).toEqual([7, 1]);
      expect(await numbers({ createdAfter: new Date(timeOf(4)) })).toEqual([9, 8, 7, 6, 5, 4]);
      expect(await numbers({ createdBefore: new Date(timeOf(4)) })).toEqual([3, 2, 1]);
    });

    it('continue after a row, also when two have the same number because a log was replaced', async () => {
      const twins = [aRun(org), aRun(org)].sort((a, b) => (a.run_id < b.run_id ? 1 : -1));
      for (const key of twins) {
        await views().save([
          aView(1, { ...folded(queued(key, { webhook: url('twin.example') })), number: 5 }),
        ]);
      }
      const query = { org_id: org, statuses: all, host: 'twin.example', limit: 1 };
      const first = await views().listWebhooks(query);
      if (first.end === undefined) throw new Error('the second twin is not seen');
      const second = await views().listWebhooks({ ...query, behind: first.end });
      expect([...first.items, ...second.items].map(({ run_id }) => run_id)).toEqual(
        twins.map(({ run_id }) => run_id),
      );
      expect(second.end).toBeUndefined();
      const fifth = sortKeyOf({
        run_id: keys[4]?.run_id ?? runId(newUuid()),
        number: 5,
        created_at: timeOf(5),
      });
      expect(await numbers({ behind: fifth, host: 'odd.example:8443' })).toEqual([3, 1]);
    });
  });
};
