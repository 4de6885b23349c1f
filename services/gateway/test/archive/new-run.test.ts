import { join } from 'node:path';
import { waitFor } from '@runledger/testing/wait-for';
import { folderInMemory } from '@runledger/testing/servers/servers-folder';
import { expect, it } from 'vitest';
import type { TestGateway } from '../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { forgetAll } from '../fixtures/runs/forgotten-log.ts';
import { queueKeyed } from '../fixtures/runs/queued-runs.ts';
import { keyOf, minutesAgo, scheduleBucket, storeSchedule } from '../runs/schedules/a-schedule.ts';
import { archiveRecords, POSITION } from '../../src/archive/archive-walk.ts';
import { archiveAll } from './archived-runs.ts';

const untilComplete = async ({ log }: TestBed, { views }: TestGateway): Promise<void> => {
  const { last_seq } = (await log.jsm.streams.info('RUNS')).state;
  await waitFor('the views', async () => {
    const at = await views.position();
    return at !== undefined && at.sequence >= last_seq && at.missed === null;
  });
};

it(
  'a new run, with a key or of a schedule, is queued without a look into the archive',
  { timeout: 60_000 },
  async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const { log, tenant } = bed;
    const { path } = open.use(await folderInMemory('new'));
    await archiveAll(log);
    // Its mount is missing, so that every look fails.
    const environment = {
      RUNLEDGER_ARCHIVE: 'directory',
      RUNLEDGER_ARCHIVE_DIRECTORY: join(path, 'missing'),
    };
    const gateway = await bed.gateway({ environment, projecting: true });
    await untilComplete(bed, gateway);
    expect((await queueKeyed(gateway, tenant, 'order-1')).status).toBe(200);
    const schedule = await storeSchedule(log, tenant, { due: [minutesAgo(2)], cron: '@yearly' });
    await waitFor('the outcome of its time', async () => {
      const { outcomes = [] } = (await scheduleBucket(log).get(keyOf(schedule)))?.value ?? {};
      return outcomes.some(({ outcome }) => outcome === 'queued');
    });
  },
);

it(
  'a key asks the archive for its run, by one name, when complete views need not know it',
  { timeout: 60_000 },
  async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const { log, tenant } = bed;
    const first = await bed.gateway({ projecting: true });
    const queued = await queueKeyed(first, tenant, 'order-1');
    await first[Symbol.asyncDispose]();
    await archiveAll(log);
    await forgetAll(log);
    const { positions } = archiveRecords(log);
    const position = await positions.get(POSITION);
    if (!position) throw new Error('it has a position');
    // Another log was archived before this one.
    await positions.put(POSITION, { ...position.value, has_others: true });
    const second = await bed.gateway({ projecting: true });
    await untilComplete(bed, second);
    expect((await queueKeyed(second, tenant, 'order-1')).body.run_id).toBe(queued.body.run_id);
  },
);
