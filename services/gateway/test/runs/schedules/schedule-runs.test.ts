import type { Schedule, ScheduleOutcome } from '@runledger/contracts/catalogue/schedules';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { assigned, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import type { Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { factsOf } from '../../fixtures/runs/queued-runs.ts';
import { keyOf, minutesAgo, scheduleBucket, storeSchedule } from './a-schedule.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ projecting: true });
  // A second one: one of the two handles the schedules.
  await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

type Stored = Parameters<typeof storeSchedule>[2];

/** A schedule of a new tenant with one time that has come, and no other for a year. */
const dueOnce = async (
  fields: Stored = {},
): Promise<{ tenant: Tenant; schedule: Schedule; time: string }> => {
  const tenant = await bed.newTenant();
  const time = minutesAgo(2);
  const schedule = await storeSchedule(bed.log, tenant, { ...yearlyAt(time), next_at: time, ...fields });
  return { tenant, schedule, time };
};

/** A cron expression of this minute. */
const yearlyAt = (time: string): Pick<Schedule, 'cron'> => {
  const [month, day, hour, minute] = [
    time.slice(5, 7),
    time.slice(8, 10),
    time.slice(11, 13),
    time.slice(14, 16),
  ];
  return { cron: [minute, hour, day, month].map(Number).join(' ') + ' *' };
};

const outcomesOf = async (tenant: Tenant, { id }: Schedule): Promise<ScheduleOutcome[]> =>
  (await call(`${gateway.api}/schedules/${id}`, tenant.key)).body.outcomes;

const handled = async (tenant: Tenant, schedule: Schedule, count = 1): Promise<ScheduleOutcome[]> => {
  await waitFor('the outcomes', async () => (await outcomesOf(tenant, schedule)).length >= count);
  return outcomesOf(tenant, schedule);
};

/** Another time of the schedule comes. */
const comeAgain = async (schedule: Schedule, time: string): Promise<void> => {
  const bucket = scheduleBucket(bed.log);
  // A gateway may store something of it at the same moment, which must stay.
  await waitFor('the change', async () => {
    const entry = await bucket.get(keyOf(schedule));
    if (!entry) throw new Error('the schedule is gone');
    return bucket.update(entry.key, { ...entry.value, ...yearlyAt(time), next_at: time }, entry.revision);
  });
};

const runOf = (tenant: Tenant, outcome: ScheduleOutcome | undefined): RunKey => ({
  org_id: orgId(tenant.org_id),
  run_id: runId(outcome?.run_id ?? ''),
});

const shown = async (tenant: Tenant, { run_id }: RunKey) =>
  (await call(`${gateway.api}/run/${run_id}?include=inputs`, tenant.key)).body;

describe.concurrent('a schedule whose time has come', () => {
  it('queues a run of its user, with its request, that names it', async () => {
    const { tenant, schedule, time } = await dueOnce({
      request: { inputs: { size: 7 }, priority: 3, concurrency_key: 'one' },
    });
    const outcomes = await handled(tenant, schedule);
    expect(outcomes).toEqual([
      {
        time,
        last_time: time,
        times: 1,
        outcome: 'queued',
        run_id: expect.any(String),
        message: null,
        handled_at: expect.any(String),
      },
    ]);
    expect(await shown(tenant, runOf(tenant, outcomes[0]))).toMatchObject({
      status: 'queued',
      user_id: schedule.user_id,
      schedule: { id: schedule.id, time },
      workflow_inputs: { size: 7 },
      priority: 3,
      concurrency_key: 'one',
    });
  });

  it('queues a run of the version that it keeps, whatever the deployment has, while there is that version', async () => {
    const tenant = await bed.newTenant();
    const { versions, deployments } = catalogue(bed.log);
    const { id: _id, number: _number, sha256: _sha, bytes: _bytes, ...more } = tenant.version;
    const add = async () => {
      const added = await versions.add({ ...more, id: newUuid(), workflow: { kind: 'other' } });
      if (added.kind !== 'added') throw new Error('no version was added');
      return added.version;
    };
    const [kept, archived, ofAnother] = [await add(), await add(), newUuid()];
    await versions.change<never>(archived, async (record) => ({
      kind: 'changed',
      record: { ...record, archived: true },
    }));
    const outcomeWith = async (workflow_version_id: string) => {
      const next_at = minutesAgo(2);
      const request = { workflow_version_id };
      return (
        await handled(
          tenant,
          await storeSchedule(bed.log, tenant, { ...yearlyAt(next_at), next_at, request }),
        )
      )[0];
    };
    expect(await shown(tenant, runOf(tenant, await outcomeWith(kept.id)))).toMatchObject({
      workflow_version_id: kept.id,
      workflow_id: tenant.deployment.workflow_id,
    });
    expect(await outcomeWith(archived.id)).toMatchObject({
      outcome: 'refused',
      message: 'deployment: The workflow version is archived. Restore it, or name another',
    });
    const gone = {
      outcome: 'refused',
      message: expect.stringContaining('The workflow version of the schedule'),
    };
    expect(await outcomeWith(ofAnother)).toMatchObject(gone);
    await deployments.put({ ...tenant.deployment, workflow_id: newUuid() });
    expect(await outcomeWith(kept.id)).toMatchObject(gone);
  });

  it('finds its runs in lists and in requests about many runs', async () => {
    const { tenant, schedule } = await dueOnce({ request: { tags: ['nightly'] } });
    const run = runOf(tenant, (await handled(tenant, schedule))[0]);
    await post(`${gateway.api}/run/${run.run_id}/rerun`, tenant.key);
    const found = async (query: string): Promise<string[]> =>
      (await call(`${gateway.api}/runs?${query}`, tenant.key)).body.runs.map(
        (one: { readonly id: string }) => one.id,
      );
    expect(await found('tag=nightly')).toHaveLength(2);
    expect(await found(`schedule_id=${schedule.id}`)).toEqual([run.run_id]);
    expect(await found(`schedule_id=${schedule.id.toUpperCase()}&tag=nightly`)).toEqual([run.run_id]);
    expect(await found(`schedule_id=${schedule.request.deployment_id}`)).toEqual([]);
    const cancel = { filter: { schedule_id: schedule.id } };
    const { body } = await post(`${gateway.api}/runs/cancel`, tenant.key, cancel);
    expect(body).toMatchObject({ matched: 1, cancelled: 1 });
    const [{ tags }] = (await call(`${gateway.api}/runs?schedule_id=${schedule.id}`, tenant.key)).body.runs;
    expect(tags).toEqual(['nightly']);
  });

  it('queues a run that is repeated without it', async () => {
    const { tenant, schedule } = await dueOnce();
    const run = runOf(tenant, (await handled(tenant, schedule))[0]);
    const { body } = await post(`${gateway.api}/run/${run.run_id}/rerun`, tenant.key);
    expect(await shown(tenant, body)).toMatchObject({ schedule: null, rerun_of: run.run_id });
  });

  it('queues the runs of several times once each, and the next ones as they come', async () => {
    const tenant = await bed.newTenant();
    const schedule = await storeSchedule(bed.log, tenant, { next_at: minutesAgo(18), catch_up_s: 3_600 });
    const outcomes = await handled(tenant, schedule, 19);
    expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(['queued']));
    const times = outcomes.map(({ time }) => time);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(new Set(times).size).toBe(times.length);
    await waitFor(
      'one run of each time',
      async () => (await factsOf(bed, tenant)) === (await outcomesOf(tenant, schedule)).length,
    );
    await scheduleBucket(bed.log).erase(keyOf(schedule));
  });

  it('has missed what came before its catch-up time', async () => {
    const { tenant, schedule, time } = await dueOnce({ next_at: minutesAgo(2), catch_up_s: 60 });
    expect(await handled(tenant, schedule)).toMatchObject([
      { outcome: 'missed', time, times: 1, run_id: null, message: expect.stringContaining('catch_up_s') },
    ]);
    expect(await factsOf(bed, tenant)).toBe(0);
  });

  it('says why no run was queued: its deployment was archived, or its inputs do not fit', async () => {
    const archived = await bed.newTenant();
    await catalogue(bed.log).deployments.put({ ...archived.deployment, archived: true });
    const [one, two] = await Promise.all([
      storeSchedule(bed.log, archived, { next_at: minutesAgo(1), cron: '@yearly' }),
      dueOnce({ request: { webhook: 'https://127.0.0.1/' } }),
    ]);
    expect(await handled(archived, one)).toMatchObject([
      { outcome: 'refused', run_id: null, message: expect.stringContaining('archived or deleted') },
    ]);
    expect(await handled(two.tenant, two.schedule)).toMatchObject([
      { outcome: 'refused', message: expect.stringMatching(/^webhook: /) },
    ]);
  });

  it('queues no other run of a time whose run was deleted before its outcome was stored', async () => {
    const { tenant, schedule, time } = await dueOnce();
    const run = runOf(tenant, (await handled(tenant, schedule))[0]);
    await appendAll(bed.log, assigned(run), started(run), succeeded(run));
    await waitFor('the run to be deleted', async () => {
      const { status } = await call(`${gateway.api}/run/${run.run_id}`, tenant.key, { method: 'DELETE' });
      return status < 300;
    });
    const facts = await factsOf(bed, tenant);
    const bucket = scheduleBucket(bed.log);
    // As a gateway leaves it that was killed in between.
    await bucket.put(keyOf(schedule), { ...schedule, next_at: null, due: [time] });
    await waitFor('its outcome', async () => (await bucket.get(keyOf(schedule)))?.value.due.length === 0);
    expect(await handled(tenant, schedule)).toMatchObject([{ outcome: 'queued', run_id: run.run_id }]);
    expect(await factsOf(bed, tenant)).toBe(facts);
  });
});

describe.concurrent('an earlier run of a schedule that has not ended', () => {
  it('lets it skip its time, until it has ended', async () => {
    const { tenant, schedule } = await dueOnce({ overlap: 'skip' });
    const run = runOf(tenant, (await handled(tenant, schedule))[0]);
    await comeAgain(schedule, minutesAgo(1));
    expect((await handled(tenant, schedule, 2))[0]).toMatchObject({ outcome: 'skipped', run_id: run.run_id });
    await appendAll(bed.log, assigned(run), started(run), succeeded(run));
    await comeAgain(schedule, minutesAgo(0));
    expect((await handled(tenant, schedule, 3))[0]).toMatchObject({ outcome: 'queued' });
    expect((await scheduleBucket(bed.log).get(keyOf(schedule)))?.value.open_runs).toHaveLength(1);
  });

  it('is cancelled, and another one is queued', async () => {
    const { tenant, schedule } = await dueOnce({ overlap: 'cancel_other' });
    const run = runOf(tenant, (await handled(tenant, schedule))[0]);
    await comeAgain(schedule, minutesAgo(1));
    const [second] = await handled(tenant, schedule, 2);
    expect(second).toMatchObject({ outcome: 'queued' });
    expect(await shown(tenant, run)).toMatchObject({ status: 'cancelled' });
    expect(await shown(tenant, runOf(tenant, second))).toMatchObject({ status: 'queued' });
  });
});
