import { lastProgress } from '@runledger/event-log/activity';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { startService } from './a-service.ts';

it('a fact of a later release lets an executor begin nothing new, and what runs go on', async () => {
  await using service = await startService();
  const { run, head } = await service.assign('busy');
  await waitFor('progress', () => lastProgress(service.log, run, 1, service.executor));
  const started = await service.fact(run, 'RunStarted');
  expect(await service.ready()).toBe(true);

  await service.tell({ ...run.cancelRequested, version: 2 }, head + 1);
  await waitFor('the executor to drain', () =>
    service.log.jsm.streams.getMessage('FLEET', { last_by_subj: 'fleet.*.*.draining' }),
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
  expect(service.said()).toContain('a consumer has stopped');
  expect(started.attempt).toBe(1);
});
