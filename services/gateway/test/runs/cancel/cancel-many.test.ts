import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/events/run-events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { unavailableViews } from '../../fixtures/views/mongo-views.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { factsOf, queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { aView, folded } from '../../fixtures/runs/folded-runs.ts';
import { sayCaughtUp, viewOf } from '../../fixtures/views/stale-views.ts';

const PAGE = 1_000;
const NOTHING = {
  matched: 0,
  cancelled: 0,
  requested: 0,
  failed: 0,
  created_before: null,
  next_cursor: null,
};
const SOME = { ...NOTHING, created_before: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) };

let bed: TestBed;
let gateway: TestGateway;
let tenant: Tenant;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ projecting: true });
});
afterAll(() => bed[Symbol.asyncDispose]());
beforeEach(async () => {
  tenant = await bed.newTenant();
});

const cancelMany = (body: unknown, key = tenant.key, { api } = gateway) =>
  post(`${api}/runs/cancel`, key, body);
const statusOf = async (key: RunKey): Promise<string> => {
  const read = await readRun(bed.log, key);
  return read.kind === 'found' ? read.run.status : read.kind;
};
const aRunningOne = async (of = tenant, fields: object = {}): Promise<RunKey> => {
  const key = await queueSample(gateway, of, fields);
  await appendAll(bed.log, assigned(key), started(key));
  return key;
};

describe('cancelling many runs', () => {
  it('ends queued runs, asks executing runs to stop, and leaves all others alone', async () => {
    const other = await bed.newTenant();
    const [theirs, waiting, running, ended] = [
      await queueSample(gateway, other),
      await queueSample(gateway, tenant),
      await aRunningOne(),
      await aRunningOne(),
    ];
    await appendAll(bed.log, succeeded(ended));
    expect((await cancelMany({ filter: {}, dry_run: true })).body).toEqual({ ...SOME, matched: 2 });
    expect(await statusOf(waiting)).toBe('queued');
    const { status, body } = await cancelMany({ filter: {} });
    expect([status, body]).toEqual([200, { ...SOME, matched: 2, cancelled: 1, requested: 1 }]);
    expect(await Promise.all([theirs, waiting, running, ended].map(statusOf))).toEqual([
      'queued',
      'cancelled',
      'running',
      'success',
    ]);
    expect((await call(`${gateway.api}/run/${running.run_id}`, tenant.key)).body.live_status).toBe(
      'cancelling',
    );
    const facts = await factsOf(bed, tenant);
    expect((await cancelMany({ filter: {} })).body).toEqual({ ...SOME, matched: 1 });
    expect(await factsOf(bed, tenant)).toBe(facts);
  });

  it('cancels only the runs that match every filter', async () => {
    const [plain, h100] = [
      await queueSample(gateway, tenant),
      await queueSample(gateway, tenant, { gpu: 'H100', tags: ['nightly', 'a:1'] }),
    ];
    const replay = await post(`${gateway.api}/run/${plain.run_id}/rerun`, tenant.key);
    const running = await aRunningOne();
    const { deployment } = tenant;
    const { created_at } = (await viewOf(bed, h100)).run;
    const matched = async (filter: object) => {
      const { status, body } = await cancelMany({ filter, dry_run: true });
      expect([status, body]).toEqual([
        200,
        { ...(body.matched === 0 ? NOTHING : SOME), matched: expect.any(Number) },
      ]);
      return body.matched;
    };
    for (const [filter, count] of [
      [{ status: null, gpu: null, created_after: null }, 4],
      [{ deployment_id: deployment.id.toUpperCase(), workflow_id: deployment.workflow_id }, 4],
      [{ deployment_id: deployment.workflow_id }, 0],
      [{ gpu: 'H100' }, 1],
      [{ gpu: 'H100', status: 'running' }, 0],
      [{ tag: 'nightly' }, 1],
      [{ tag: ['nightly', 'a:1'] }, 1],
      [{ tag: 'nightly, a:2' }, 0],
      [{ origin: 'replay' }, 1],
      [{ status: 'queued' }, 3],
      [{ status: 'running, uploading,success' }, 1],
      [{ status: ['queued', 'running'] }, 4],
      [{ status: [] }, 0],
      [{ status: ['success', 'cancelled', 'not-started'] }, 0],
      [{ created_before: created_at }, 1],
      [{ created_after: created_at }, 3],
      [{ created_before: '2020-01-01' }, 0],
    ] as const) {
      expect([filter, await matched(filter)]).toEqual([filter, count]);
    }
    expect((await cancelMany({ filter: { gpu: 'H100' } })).body).toMatchObject({ matched: 1, cancelled: 1 });
    const again = { org_id: plain.org_id, run_id: replay.body.run_id };
    expect(await Promise.all([plain, h100, again, running].map(statusOf))).toEqual([
      'queued',
      'cancelled',
      'queued',
      'running',
    ]);
  });

  it('does not cancel a run as queued that the log shows as started', async () => {
    const views = sqliteViews();
    const stale = await bed.gateway({ views });
    const [began, ended, waiting] = [
      await queueSample(stale, tenant),
      await queueSample(stale, tenant),
      await queueSample(stale, tenant),
    ];
    await views.save(await Promise.all([began, ended, waiting].map((key) => viewOf(bed, key))));
    await appendAll(bed.log, assigned(began), assigned(ended), started(ended), succeeded(ended));
    await sayCaughtUp(bed, views);
    const counted = await cancelMany({ filter: { status: 'queued' }, dry_run: true }, tenant.key, stale);
    expect(counted.body.matched).toBe(3);
    const { body } = await cancelMany({ filter: { status: 'queued' } }, tenant.key, stale);
    expect(body).toEqual({ ...SOME, matched: 1, cancelled: 1 });
    expect(await Promise.all([began, ended, waiting].map(statusOf))).toEqual([
      'started',
      'success',
      'cancelled',
    ]);
  });

  it('counts each run once for concurrent requests at two gateways', async () => {
    const second = await bed.gateway({ views: gateway.views });
    await Promise.all(Array.from({ length: 40 }, () => queueSample(gateway, tenant)));
    const answers = await Promise.all(
      [gateway, second].map((at) => cancelMany({ filter: {} }, tenant.key, at)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers.reduce((sum, { body }) => sum + body.cancelled, 0)).toBe(40);
  });

  it('leaves out runs queued after a dry run, with its created_before', async () => {
    const counted = [await queueSample(gateway, tenant), await queueSample(gateway, tenant)];
    const dry = await cancelMany({ filter: {}, dry_run: true });
    const later = await queueSample(gateway, tenant);
    const { created_before } = dry.body;
    const { body } = await cancelMany({ filter: { created_before } });
    expect(body).toEqual({ ...SOME, matched: 2, cancelled: 2, created_before });
    expect(await Promise.all([...counted, later].map(statusOf))).toEqual([
      'cancelled',
      'cancelled',
      'queued',
    ]);
  });

  it('continues after pages that the search ended empty', { timeout: 180_000 }, async () => {
    const views = sqliteViews();
    const looking = await bed.gateway({ views });
    const oldest = await queueSample(looking, tenant, { gpu: 'H100' });
    const { run } = await viewOf(bed, await queueSample(looking, tenant));
    // More than are searched for one page.
    const others = Array.from({ length: 100_000 }, () =>
      aView(1, { ...run, run_id: aRun(tenant.org_id).run_id }),
    );
    await views.save([await viewOf(bed, oldest), ...others]);
    await sayCaughtUp(bed, views);
    const filter = { gpu: 'H100' };
    const first = await cancelMany({ filter }, tenant.key, looking);
    expect(first.body).toEqual({ ...NOTHING, next_cursor: expect.any(String) });
    let last = first.body;
    while (last.next_cursor !== null && last.matched === 0) {
      last = (await cancelMany({ filter, cursor: last.next_cursor }, tenant.key, looking)).body;
    }
    expect(last).toEqual({ ...SOME, matched: 1, cancelled: 1 });
  });

  it('cancels more than a page, newest first', async () => {
    const views = sqliteViews();
    const paging = await bed.gateway({ views });
    const [older, newer] = [await queueSample(paging, tenant), await queueSample(paging, tenant)];
    const { number, created_at } = (await viewOf(bed, newer)).run;
    // Between the two; the log no longer has them, so that they end instead of being cancelled.
    const between = Array.from({ length: PAGE }, () => {
      const run = folded(queued(aRun(tenant.org_id)));
      return aView(1, { ...run, number: number - 1, created_at });
    });
    await views.save([await viewOf(bed, older), await viewOf(bed, newer), ...between]);
    await sayCaughtUp(bed, views);
    const first = await cancelMany({ filter: {}, cursor: null }, tenant.key, paging);
    expect(first.body).toEqual({
      ...SOME,
      matched: 1,
      cancelled: 1,
      next_cursor: expect.any(String),
    });
    expect([await statusOf(older), await statusOf(newer)]).toEqual(['queued', 'cancelled']);
    const { next_cursor: cursor } = first.body;
    await sayCaughtUp(bed, views);
    const second = await cancelMany({ filter: {}, cursor }, tenant.key, paging);
    expect(second.body).toEqual({ ...SOME, matched: 1, cancelled: 1 });
    expect(await statusOf(older)).toBe('cancelled');
  });
});

describe('an invalid request to cancel many runs', () => {
  it.each([
    [undefined, 'body', 'missing'],
    [{}, 'body.filter', 'missing'],
    [{ filter: { deployment: 'x' } }, 'body.filter.deployment', 'extra_forbidden'],
    [{ filter: null }, 'body.filter', 'model_attributes_type'],
    [{ filter: { status: 'done' } }, 'body.filter.status', 'enum'],
    [{ filter: { status: '' } }, 'body.filter.status', 'enum'],
    [{ filter: { deployment_id: 'x' } }, 'body.filter.deployment_id', 'uuid_parsing'],
    [{ filter: { gpu: 'RTX 4090' } }, 'body.filter.gpu', 'string_pattern_mismatch'],
    [{ filter: { origin: 'cron' } }, 'body.filter.origin', 'enum'],
    [{ filter: { tag: [] } }, 'body.filter.tag', 'string_pattern_mismatch'],
    [{ filter: { tag: 'two words' } }, 'body.filter.tag', 'string_pattern_mismatch'],
    [{ filter: {}, dry_run: 'yes' }, 'body.dry_run', 'bool_type'],
    [{ filter: {}, dryRun: true }, 'body.dryRun', 'extra_forbidden'],
    [{ filter: {}, cursor: 'x' }, 'body.cursor', 'value_error'],
  ])('%j: %s is %s', async (asked, where, type) => {
    const waiting = await queueSample(gateway, tenant);
    const { status, body } = await cancelMany(asked);
    expect(status).toBe(422);
    expect(
      body.detail.map((problem: { loc: string[]; type: string }) => [problem.loc.join('.'), problem.type]),
    ).toEqual([[where, type]]);
    expect(await statusOf(waiting)).toBe('queued');
  });

  it('is refused with a key that may only read, and without views', async () => {
    const reading = await aKey(bed.log, tenant, { scopes: ['runs:read'] });
    expect((await cancelMany({ filter: {} }, reading)).status).toBe(403);
    await using unavailable = unavailableViews();
    const viewless = await bed.gateway({ views: unavailable });
    const { status, headers } = await cancelMany({ filter: {} }, tenant.key, viewless);
    expect([status, headers.get('retry-after')]).toEqual([503, '2']);
  });

  it('is refused while the views lack runs of the log, instead of saying that none matched', async () => {
    const waiting = await queueSample(gateway, tenant);
    const behind = await bed.gateway({ views: sqliteViews() });
    const { status, body } = await cancelMany({ filter: {} }, tenant.key, behind);
    expect([status, body.detail]).toEqual([503, expect.stringContaining('Try again')]);
    expect(await statusOf(waiting)).toBe('queued');
  });
});
