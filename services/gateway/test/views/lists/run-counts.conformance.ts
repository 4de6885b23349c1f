import { newUuid, orgId } from '@runledger/contracts/ids';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { RunKey } from '@runledger/contracts/events/subjects';
import {
  aRun,
  assigned,
  cancelRequested,
  failed,
  queued,
  started,
  succeeded,
  uploading,
} from '@runledger/testing/run-events';
import { beforeAll, describe, expect, it } from 'vitest';
import type { CountQuery } from '../../../src/views/list-query.decide.ts';
import type { RunViews } from '../../../src/views/run-views.ts';
import { aView, folded, timeOf } from '../../fixtures/runs/folded-runs.ts';

const HISTORIES: readonly ((key: RunKey) => readonly RunEvent[])[] = [
  () => [],
  (key) => [assigned(key)],
  (key) => [assigned(key), started(key)],
  (key) => [assigned(key), started(key), uploading(key)],
  (key) => [assigned(key), started(key), succeeded(key)],
  (key) => [assigned(key), started(key), failed(key)],
  (key) => [cancelRequested(key)],
];

/** Counts of runs, in every adapter. */
export const runCountsConformance = (views: () => RunViews): void => {
  describe('counts of runs', () => {
    const org = orgId(newUuid());
    const [deployment_id, schedule_id] = [newUuid(), newUuid()];
    beforeAll(async () => {
      const runs = Array.from({ length: 28 }, (_, number) => {
        const key = aRun(org);
        const event = queued(key, {
          origin: number % 4 === 0 ? 'replay' : 'api',
          ...(number % 2 === 0 && { deployment_id, tags: number % 3 === 0 ? ['a', 'b'] : ['a'] }),
          ...(number % 5 === 0 && { schedule: { id: schedule_id, time: timeOf(number) } }),
        });
        const run = folded(event, ...(HISTORIES[number % HISTORIES.length]?.(key) ?? []));
        return aView(1, { ...run, number, created_at: timeOf(number) });
      });
      await views().save([...runs, aView(9, folded(queued(aRun(), { deployment_id, tags: ['a'] })))]);
    });

    it.each<Omit<CountQuery, 'org_id'>>([
      {},
      { deploymentId: deployment_id },
      { tags: ['a'] },
      { tags: ['a', 'b'], origin: 'replay' },
      { scheduleId: schedule_id, statuses: ['queued', 'failed', 'success'] },
      { origin: 'api', statuses: ['success', 'failed'] },
      { deploymentId: deployment_id, statuses: ['cancelled', 'failed'] },
      { statuses: ['running'] },
      { statuses: [] },
      { createdAfter: new Date(timeOf(3)), createdBefore: new Date(timeOf(17)) },
      { createdAfter: new Date(timeOf(3)), createdBefore: new Date(timeOf(17)), tags: ['a'] },
    ])('are those of the list with %o', async (query) => {
      const { items } = await views().listRuns({ org_id: org, ...query, limit: 100 });
      const { counts, isComplete } = await views().countRuns({ org_id: org, ...query });
      expect(isComplete).toBe(true);
      const listed = Object.keys(counts).map((status) => [
        status,
        items.filter(({ run }) => run.status === status).length,
      ]);
      expect(counts).toEqual(Object.fromEntries(listed));
    });

    it('have every status', async () => {
      expect((await views().countRuns({ org_id: org })).counts).toEqual({
        queued: 4,
        started: 4,
        running: 4,
        uploading: 4,
        success: 4,
        failed: 4,
        timeout: 0,
        cancelled: 4,
      });
    });
  });
};
