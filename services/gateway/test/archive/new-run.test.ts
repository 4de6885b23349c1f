import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { waitFor } from '@runledger/testing/wait-for';
import { folderInMemory } from '@runledger/testing/servers/servers-folder';
import { expect, it } from 'vitest';
import type { TestGateway } from '../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { forgetAll } from '../fixtures/runs/forgotten-log.ts';
import { queueKeyed, runIn } from '../fixtures/runs/queued-runs.ts';
import { keyOf, minutesAgo, scheduleBucket, storeSchedule } from '../runs/schedules/a-schedule.ts';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { beginningOf } from '../../src/views/projection-start.decide.ts';
import { setPosition } from '../fixtures/views/set-position.ts';
import { sqliteViews } from '../fixtures/views/sqlite-views.ts';
import { archiveRecords, POSITION, type ArchivePosition } from '../../src/archive/archive-walk.ts';
import { archiveAll, objectsOf } from './archived-runs.ts';

const untilComplete = async ({ log }: TestBed, { views }: TestGateway): Promise<void> => {
  const { last_seq } = (await log.jsm.streams.info('RUNS')).state;
  await waitFor('the views', async () => {
    const at = await views.position();
    return at !== undefined && at.sequence >= last_seq && at.missed === null;
  });
};

/** As if the archive had begun with another log, or had come further than this one has. */
const movePosition = async (log: EventLog, to: Partial<ArchivePosition>): Promise<void> => {
  const { positions } = archiveRecords(log);
  const position = await positions.get(POSITION);
  if (!position) throw new Error('nothing was archived');
  await positions.put(POSITION, { ...position.value, ...to });
};

it(
  'a key is known, and a new run with a key or of a schedule is queued, without a look into an archive that has runs of another log',
  { timeout: 60_000 },
  async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const { log, tenant } = bed;
    const { path } = open.use(await folderInMemory('new'));
    const directory = join(path, 'archive');
    const environment = { RUNLEDGER_ARCHIVE: 'directory', RUNLEDGER_ARCHIVE_DIRECTORY: directory };
    await mkdir(directory);
    const first = await bed.gateway({ projecting: true });
    const queued = await queueKeyed(first, tenant, 'order-1');
    await first[Symbol.asyncDispose]();
    await archiveAll(log, { objects: objectsOf(log, environment) });
    await forgetAll(log);
    await movePosition(log, { log_created: '2026-01-01T00:00:00.000000001Z' });
    // Its views are made anew.
    const second = await bed.gateway({ environment, projecting: true });
    await untilComplete(bed, second);
    // From now on every look fails.
    await rename(directory, join(path, 'unmounted'));
    expect((await queueKeyed(second, tenant, 'order-1')).body.run_id).toBe(queued.body.run_id);
    expect((await queueKeyed(second, tenant, 'order-2')).status).toBe(200);
    const schedule = await storeSchedule(log, tenant, { due: [minutesAgo(2)], cron: '@yearly' });
    await waitFor('the outcome of its time', async () => {
      const { outcomes = [] } = (await scheduleBucket(log).get(keyOf(schedule)))?.value ?? {};
      return outcomes.some(({ outcome }) => outcome === 'queued');
    });
  },
);

it(
  'a key is known to views that go on when the log was restored from an older copy: they read what only the archive has',
  { timeout: 60_000 },
  async () => {
    await using bed = await openTestBed();
    const { log, tenant } = bed;
    const views = sqliteViews();
    const first = await bed.gateway({ projecting: true });
    const queued = await queueKeyed(first, tenant, 'order-1');
    await first[Symbol.asyncDispose]();
    await archiveAll(log);
    await forgetAll(log);
    // As in a copy of the views that is older than the run: they have their place in this log, and never had the run.
    const identity = await runsIdentity(log);
    await setPosition(views, { ...beginningOf(identity, 1), sequence: identity.lastSequence });
    await movePosition(log, { sequence: identity.lastSequence + 1 });
    const second = await bed.gateway({ views, projecting: true });
    await waitFor('the run', async () => (await views.find(runIn(tenant, queued))) !== undefined);
    await untilComplete(bed, second);
    expect((await queueKeyed(second, tenant, 'order-1')).body.run_id).toBe(queued.body.run_id);
  },
);
