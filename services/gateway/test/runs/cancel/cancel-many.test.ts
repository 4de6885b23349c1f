import type { RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { unavailableViews } from '../../fixtures/views/mongo-views.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openHere } from '../../fixtures/gateway/here.ts';
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

const here = openHere();

const cancelMany = (body: unknown, key = here.tenant.key, { api } = here.gateway) =>
  post(`${api}/runs/cancel`, key, body);
const statusOf = async (key: RunKey): Promise<string> => {
  const read = await readRun(here.bed.log, key);
  return read.kind === 'found' ? read.run.status : read.kind;
};
const aRunningOne = async (of = here.tenant, fields: object = {}): Promise<RunKey> => {
  const key = await queueSample(here.gateway, of, fields);
  await appendAll(here.bed.log, assigned(key), started(key));
  return key;
};

describe('cancelling many runs', () => {
  it('ends queued runs, asks executing runs to stop, and leaves all others alone', async () => {
    const other = await here.bed.newTenant();
    const [theirs, waiting, running, ended] = [
      await queueSample(here.gateway, other),
      await queueSample(here.gateway, here.tenant),
      await aRunningOne(),
      await aRunningOne(),
    ];
    await appendAll(here.bed.log, succeeded(ended));
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
    expect((await call(`${here.gateway.api}/run/${running.run_id}`, here.tenant.key)).body.live_status).toBe(
      'cancelling',
    );
    const facts = await factsOf(here.bed, here.tenant);
    expect((await cancelMany({ filter: {} })).body).toEqual({ ...SOME, matched: 1 });
    expect(await factsOf(here.bed, here.tenant)).toBe(facts);
  });

  it('does not cancel a run as queued that the log shows as started', async () => {
    const views = sqliteViews();
    const stale = await here.bed.gateway({ views });
    const [began, ended, waiting] = [
      await queueSample(stale, here.tenant),
      await queueSample(stale, here.tenant),
      await queueSample(stale, here.tenant),
    ];
    await views.save(await Promise.all([began, ended, waiting].map((key) => viewOf(here.bed, key))));
    await appendAll(here.bed.log, assigned(began), assigned(ended), started(ended), succeeded(ended));
    await sayCaughtUp(here.bed, views);
    const counted = await cancelMany({ filter: { status: 'queued' }, dry_run: true }, here.tenant.key, stale);
    expect(counted.body.matched).toBe(3);
    const { body } = await cancelMany({ filter: { status: 'queued' } }, here.tenant.key, stale);
    expect(body).toEqual({ ...SOME, matched: 1, cancelled: 1 });
    expect(await Promise.all([began, ended, waiting].map(statusOf))).toEqual([
      'started',
      'success',
      'cancelled',
    ]);
  });

  it('counts each run once for concurrent requests at two gateways', async () => {
    const second = await here.bed.gateway({ views: here.gateway.views });
    await Promise.all(Array.from({ length: 40 }, () => queueSample(here.gateway, here.tenant)));
    const answers = await Promise.all(
      [here.gateway, second].map((at) => cancelMany({ filter: {} }, here.tenant.key, at)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers.reduce((sum, { body }) => sum + body.cancelled, 0)).toBe(40);
  });

  it('leaves out runs queued after a dry run, with its created_before', async () => {
    const counted = [
      await queueSample(here.gateway, here.tenant),
      await queueSample(here.gateway, here.tenant),
    ];
    const dry = await cancelMany({ filter: {}, dry_run: true });
    const later = await queueSample(here.gateway, here.tenant);
    const { created_before } = dry.body;
    const { body } = await cancelMany({ filter: { created_before } });
    expect(body).toEqual({ ...SOME, matched: 2, cancelled: 2, created_before });
    expect(await Promise.all([...counted, later].map(statusOf))).toEqual([
      'cancelled',
      'cancelled',
      'queued',
    ]);
  });

  it('continues after pages that the search ended empty', async () => {
    let now = 0;
    // Each look at the clock takes longer than the search for a page may.
    const views = sqliteViews({ clock: () => (now += 60_000) });
    const looking = await here.bed.gateway({ views });
    const oldest = await queueSample(looking, here.tenant, { gpu: 'H100' });
    const { run } = await viewOf(here.bed, await queueSample(looking, here.tenant));
    // Far more than are searched between two looks.
    const others = Array.from({ length: 2_000 }, () =>
      aView(1, { ...run, run_id: aRun(here.tenant.org_id).run_id }),
    );
    await views.save([await viewOf(here.bed, oldest), ...others]);
    await sayCaughtUp(here.bed, views);
    const filter = { gpu: 'H100' };
    const first = await cancelMany({ filter }, here.tenant.key, looking);
    expect(first.body).toEqual({ ...NOTHING, next_cursor: expect.any(String) });
    let last = first.body;
    while (last.next_cursor !== null && last.matched === 0) {
      last = (await cancelMany({ filter, cursor: last.next_cursor }, here.tenant.key, looking)).body;
    }
    expect(last).toEqual({ ...SOME, matched: 1, cancelled: 1 });
  });

  it('cancels more than a page, newest first', async () => {
    const views = sqliteViews();
    const paging = await here.bed.gateway({ views });
    const [older, newer] = [await queueSample(paging, here.tenant), await queueSample(paging, here.tenant)];
    const { number, created_at } = (await viewOf(here.bed, newer)).run;
    // Between the two; the log no longer has them, so that they end instead of being cancelled.
    const between = Array.from({ length: PAGE }, () => {
      const run = folded(queued(aRun(here.tenant.org_id)));
      return aView(1, { ...run, number: number - 1, created_at });
    });
    await views.save([await viewOf(here.bed, older), await viewOf(here.bed, newer), ...between]);
    await sayCaughtUp(here.bed, views);
    const first = await cancelMany({ filter: {}, cursor: null }, here.tenant.key, paging);
    expect(first.body).toEqual({
      ...SOME,
      matched: 1,
      cancelled: 1,
      next_cursor: expect.any(String),
    });
    expect([await statusOf(older), await statusOf(newer)]).toEqual(['queued', 'cancelled']);
    const { next_cursor: cursor } = first.body;
    await sayCaughtUp(here.bed, views);
    const second = await cancelMany({ filter: {}, cursor }, here.tenant.key, paging);
    expect(second.body).toEqual({ ...SOME, matched: 1, cancelled: 1 });
    expect(await statusOf(older)).toBe('cancelled');
  });
});

describe('an invalid request to cancel many runs', () => {
  it.each([
    [undefined, 'body', 'missing'],
    [{}, 'body.filter', 'missing'],
    [{ filter: { deployments: 'x' } }, 'body.filter.deployments', 'extra_forbidden'],
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
    const waiting = await queueSample(here.gateway, here.tenant);
    const { status, body } = await cancelMany(asked);
    expect(status).toBe(422);
    expect(
      body.detail.map((problem: { loc: string[]; type: string }) => [problem.loc.join('.'), problem.type]),
    ).toEqual([[where, type]]);
    expect(await statusOf(waiting)).toBe('queued');
  });

  it('is refused with a key that may only read, and without views', async () => {
    const reading = await aKey(here.bed.log, here.tenant, { scopes: ['runs:read'] });
    expect((await cancelMany({ filter: {} }, reading)).status).toBe(403);
    await using unavailable = unavailableViews();
    const viewless = await here.bed.gateway({ views: unavailable });
    const { status, headers } = await cancelMany({ filter: {} }, here.tenant.key, viewless);
    expect([status, headers.get('retry-after')]).toEqual([503, '2']);
  });

  it('is refused while the views lack runs of the log, instead of saying that none matched', async () => {
    const waiting = await queueSample(here.gateway, here.tenant);
    const behind = await here.bed.gateway({ views: sqliteViews() });
    const { status, body } = await cancelMany({ filter: {} }, here.tenant.key, behind);
    expect([status, body.detail]).toEqual([503, expect.stringContaining('Try again')]);
    expect(await statusOf(waiting)).toBe('queued');
  });
});
