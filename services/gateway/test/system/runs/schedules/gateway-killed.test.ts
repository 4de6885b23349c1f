import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { orgId, runId } from '@runledger/contracts/ids';
import { readRun } from '@runledger/event-log/read/read-run';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { startGatewayProcess } from '../../../fixtures/gateway/a-service.ts';
import type { Tenant } from '../../../fixtures/gateway/a-tenant.ts';
import { openTestBed } from '../../../fixtures/gateway/test-bed.ts';
import { keyOf, minutesAgo, scheduleBucket, storeSchedule } from '../../../runs/schedules/a-schedule.ts';

const MINUTES = 150;
const SCHEDULES = 2;
const KILLS = 2;
const MINUTE_MS = 60_000;

/** The times of the runs in the log, by schedule. */
const timesIn = async (log: EventLog, { org_id }: Tenant): Promise<Map<string, string[]>> => {
  const { state } = await log.jsm.streams.info('RUNS', { subjects_filter: `runs.${org_id}.*.life.queued.>` });
  const times = new Map<string, string[]>();
  for (const subject of Object.keys(state.subjects ?? {})) {
    const key = { org_id: orgId(org_id), run_id: runId(subject.split('.')[2] ?? '') };
    const read = await readRun(log, key);
    const schedule = read.kind === 'found' ? read.run.request.schedule : undefined;
    if (schedule) times.set(schedule.id, [...(times.get(schedule.id) ?? []), schedule.time]);
  }
  return times;
};

it(
  'gateways that are killed while they handle schedules queue one run for each time, and lose none',
  { timeout: 240_000 },
  async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const { path: folder } = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-schedules-')));
    const bucket = scheduleBucket(bed.log);
    const first = minutesAgo(MINUTES);
    const schedules = await Promise.all(
      Array.from({ length: SCHEDULES }, () =>
        storeSchedule(bed.log, bed.tenant, { next_at: first, catch_up_s: 86_400 }),
      ),
    );
    const environment = {
      ...bed.nats.env,
      RUNLEDGER_VIEWS: 'sqlite',
      RUNLEDGER_VIEWS_FILE: join(folder, 'views.sqlite'),
    };
    const runs = async (): Promise<number> => {
      const filter = { subjects_filter: `runs.${bed.tenant.org_id}.*.life.queued.>` };
      const { state } = await bed.log.jsm.streams.info('RUNS', filter);
      return Object.keys(state.subjects ?? {}).length;
    };
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const gateway = open.use(await startGatewayProcess(environment));
      const before = await runs();
      await waitFor('some runs', async () => (await runs()) > before + 20, { withinMs: 30_000 });
      gateway.kill('SIGKILL');
      await gateway.exit();
    }
    expect(await runs()).toBeLessThan(SCHEDULES * MINUTES);

    open.use(await startGatewayProcess(environment));
    const stored = () => Promise.all(schedules.map((one) => bucket.get(keyOf(one))));
    await waitFor(
      'all times to be handled',
      async () =>
        (await stored()).every(
          (entry) =>
            entry?.value.due.length === 0 && Date.parse(entry.value.next_at ?? '') > Date.now() - MINUTE_MS,
        ),
      { withinMs: 120_000 },
    );
    const expected = Array.from({ length: MINUTES }, (_, minute) =>
      new Date(Date.parse(first) + minute * MINUTE_MS).toISOString(),
    );
    const times = await timesIn(bed.log, bed.tenant);
    for (const { id } of schedules) {
      const of = times.get(id)?.toSorted() ?? [];
      expect(new Set(of).size).toBe(of.length);
      expect(of.slice(0, MINUTES)).toEqual(expected);
    }
    for (const entry of await stored())
      expect(entry?.value.outcomes.map(({ outcome }) => outcome)).not.toContain('missed');
  },
);
