import { lifecycleFilter, runEventSubject } from '@runledger/contracts/events/subjects';
import { lastProgress } from '@runledger/event-log/streams/activity';
import { lastHeartbeat } from '@runledger/coordination/heartbeats';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { startService } from './service-test-bed.ts';

it('an executor that reads a fact of a later release drains, and stores nothing more about the run of that fact', async () => {
  await using service = await startService();
  const { log, executor } = service;
  const { run, head } = await service.assign('held');
  await waitFor('progress', () => lastProgress(log, run, 1, executor));
  await service.fact(run, 'RunStarted');
  expect(await service.ready()).toBe(true);

  const newer = { ...run.cancelRequested, version: 2 };
  await service.append(newer, head + 1);
  await waitFor('the executor to drain', () =>
    log.jsm.streams.getMessage('FLEET', { last_by_subj: 'fleet.*.*.draining' }),
  );
  expect(await service.ready()).toBe(false);
  expect(await service.readiness()).toMatchObject({
    consumption: {
      ok: false,
      why: expect.stringMatching(
        /RunCancelRequested in version 2, which this release cannot read/,
      ) as unknown,
    },
  });
  expect(service.output()).toContain('a consumer has stopped');
  const runs = async () => (await lastHeartbeat(log, executor))?.heartbeat.runs;
  expect(await runs()).toEqual([{ slot: 0, run_id: run.run_id, attempt: 1 }]);

  service.end();
  await waitFor('the slot to be free', async () => (await runs())?.length === 0);
  const last = await log.jsm.streams.getMessage('RUNS', { last_by_subj: lifecycleFilter(run) });
  expect(last?.subject).toBe(runEventSubject(newer));
});
