import { silentLogger } from '@runledger/event-log/connect/observability';
import { deleted } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { archiveAll, archivedIn, takeObjectsAway } from '../../archive/archived-runs.ts';
import { openTestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { forgetBefore, untilOlder } from '../../fixtures/runs/forgotten-log.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { aRunWithFile } from '../retention/aged-runs.ts';

it('files of a deleted run are erased by views that were emptied, although the log has the deletion alone', async () => {
  await using bed = await openTestBed();
  const { log, tenant } = bed;
  const before = await bed.gateway({ views: sqliteViews(), projecting: true });
  const { run, url } = await aRunWithFile(bed, before, tenant);
  await before[Symbol.asyncDispose]();
  await untilOlder(log);
  const deletion = await appendAll(log, deleted(run));
  await archiveAll(log);
  await forgetBefore(log, deletion);
  const archiveComesBack = await takeObjectsAway(log);

  let tries = 0;
  const error = (_fields: object, message: string): void => {
    if (message.startsWith('run views that lack facts')) tries += 1;
  };
  const views = sqliteViews();
  const gateway = await bed.gateway({ views, projecting: true, logger: { ...silentLogger, error } });
  await waitFor('the deletion in the view', async () => (await views.find(run))?.run.status === 'deleted');
  // Erasing looks more often than the archive is tried.
  await waitFor('a second try', () => tries > 1);
  expect(await archivedIn(log)).toContainEqual(run);
  const file = url.replace(before.url, gateway.url);
  expect((await fetch(file)).status).toBe(200);
  await archiveComesBack();
  await waitFor('the file to be erased', async () => (await fetch(file)).status === 404);
  await waitFor('the archive to lack it', async () => (await archivedIn(log)).length === 0);
});
