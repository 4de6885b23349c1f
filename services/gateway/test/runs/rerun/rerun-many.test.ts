import type { RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { orgId, runId } from '@runledger/contracts/ids';
import { assigned, failed, started, succeeded } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openHere } from '../../fixtures/gateway/here.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { factsOf, queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call, post, postKeyed } from '../../fixtures/requests/requests.ts';
import { viewOf } from '../../fixtures/views/stale-views.ts';

const NOTHING = {
  matched: 0,
  queued: 0,
  already_queued: 0,
  refused: [],
  stopped: null,
  created_before: null,
  next_cursor: null,
};
const SOME = { ...NOTHING, created_before: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) };

const here = openHere();

const rerunMany = async (key: string, body: object, { api } = here.gateway, apiKey = here.tenant.key) => {
  const { status, body: answer } = await postKeyed(`${api}/runs/rerun`, apiKey, key, body);
  expect([status, answer]).toEqual([200, answer]);
  return answer;
};
const count = async (filter: object) => {
  const { body } = await post(`${here.gateway.api}/runs/rerun`, here.tenant.key, { filter, dry_run: true });
  expect(body).toEqual({ ...(body.matched === 0 ? NOTHING : SOME), matched: expect.any(Number) });
  return body.matched;
};
const fail = async (...keys: readonly RunKey[]): Promise<void> => {
  for (const key of keys) await appendAll(here.bed.log, assigned(key), started(key), failed(key));
};
const aFailedOne = async (fields: object = {}, of = here.tenant): Promise<RunKey> => {
  const key = await queueSample(here.gateway, of, fields);
  await fail(key);
  return key;
};
/** Of the reruns of the tenant, the newest first. */
const reruns = async (of = here.tenant): Promise<{ id: string; rerun_of: string; status: string }[]> =>
  (await call(`${here.gateway.api}/runs?origin=replay&limit=100`, of.key)).body.runs;
const keyOf = ({ id }: { readonly id: string }): RunKey => ({
  org_id: orgId(here.tenant.org_id),
  run_id: runId(id),
});
const originsOf = async (): Promise<string[]> => (await reruns()).map(({ rerun_of }) => rerun_of).toSorted();
const idsOf = (...keys: readonly RunKey[]): string[] => keys.map(({ run_id }) => run_id).toSorted();

describe('running many runs again', () => {
  it('queues each run again that has ended, and no other', async () => {
    const other = await here.bed.newTenant();
    await aFailedOne({}, other);
    const [bad, good] = [
      await aFailedOne({ inputs: { a: 1 } }),
      await queueSample(here.gateway, here.tenant),
    ];
    await appendAll(here.bed.log, assigned(good), started(good), succeeded(good));
    await queueSample(here.gateway, here.tenant);
    expect(await count({})).toBe(2);
    expect(await reruns()).toEqual([]);
    expect(await rerunMany('k', { filter: {} })).toEqual({ ...SOME, matched: 2, queued: 2 });
    expect(await originsOf()).toEqual(idsOf(bad, good));
    expect(await reruns(other)).toEqual([]);
    const again = (await reruns()).filter(({ rerun_of }) => rerun_of === bad.run_id).map(keyOf);
    expect(await Promise.all(again.map((key) => readRun(here.bed.log, key)))).toMatchObject([
      { kind: 'found', run: { request: { origin: 'replay', inputs: { a: 1 } } } },
    ]);
  });

  it('leaves out deleted runs', async () => {
    const gone = await aFailedOne();
    await call(`${here.gateway.api}/run/${gone.run_id}`, here.tenant.key, { method: 'DELETE' });
    expect(await rerunMany('k', { filter: {} })).toEqual(NOTHING);
  });
});

describe('a repeated request to run many runs again', () => {
  it('queues none twice, at two gateways at the same time or later, and with a new key once more', async () => {
    const second = await here.bed.gateway({ views: here.gateway.views });
    const origins = await Promise.all(
      Array.from({ length: 20 }, () => queueSample(here.gateway, here.tenant)),
    );
    await fail(...origins);
    const filter = { status: 'failed' };
    const answers = await Promise.all([here.gateway, second].map((at) => rerunMany('k', { filter }, at)));
    expect(answers.reduce((sum, { queued }) => sum + queued, 0)).toBe(20);
    expect(await originsOf()).toEqual(idsOf(...origins));
    const facts = await factsOf(here.bed, here.tenant);
    expect(await rerunMany('k', { filter })).toEqual({ ...SOME, matched: 20, already_queued: 20 });
    // Another filter with the key of the same run.
    expect(await rerunMany('k', { filter: {} })).toMatchObject({ matched: 20, already_queued: 20 });
    expect(await factsOf(here.bed, here.tenant)).toBe(facts);
    expect(await rerunMany('another', { filter })).toMatchObject({ matched: 20, queued: 20 });
  });

  it('does not queue again what it has queued itself, once that has ended too', async () => {
    const origin = await aFailedOne();
    await rerunMany('k', { filter: {} });
    const [rerun] = await reruns();
    await fail(...(await reruns()).map(keyOf));
    expect(await rerunMany('k', { filter: {} })).toMatchObject({ matched: 1, already_queued: 1 });
    expect(await rerunMany('k', { filter: { origin: 'replay' } })).toMatchObject({ matched: 0 });
    // For another request it is a run like all others.
    expect(await rerunMany('another', { filter: { origin: 'replay' } })).toMatchObject({ queued: 1 });
    expect(await originsOf()).toEqual([origin.run_id, rerun?.id ?? ''].toSorted());
  });

  it('does not queue again what it has queued and a client has deleted', async () => {
    await aFailedOne();
    await rerunMany('k', { filter: {} });
    const [rerun] = await reruns();
    await post(`${here.gateway.api}/run/${rerun?.id}/cancel`, here.tenant.key);
    await call(`${here.gateway.api}/run/${rerun?.id}`, here.tenant.key, { method: 'DELETE' });
    expect(await rerunMany('k', { filter: {} })).toMatchObject({ matched: 1, already_queued: 1 });
  });

  it('shares no key with a request for a single run', async () => {
    const origin = await aFailedOne();
    const single = `${here.gateway.api}/run/${origin.run_id}/rerun`;
    expect((await postKeyed(single, here.tenant.key, 'k', {})).status).toBe(200);
    expect(await rerunMany('k', { filter: { origin: 'api' } })).toMatchObject({ queued: 1 });
    expect(await originsOf()).toEqual(idsOf(origin, origin));
  });
});

describe('a page of runs to run again', () => {
  it('stops when the queue is full, and continues at its cursor when there is room', async () => {
    const bounded = await here.bed.gateway({
      views: here.gateway.views,
      environment: { RUNLEDGER_QUEUE_MAX: '3' },
    });
    const origins: RunKey[] = [];
    for (let at = 0; at < 5; at += 1) origins.push(await aFailedOne());
    const full = await rerunMany('k', { filter: {} }, bounded);
    expect(full).toEqual({
      ...SOME,
      matched: 3,
      queued: 3,
      stopped: 'queue_full',
      next_cursor: expect.any(String),
    });
    const { next_cursor: cursor } = full;
    expect(await rerunMany('k', { filter: {}, cursor }, bounded)).toMatchObject({
      queued: 0,
      stopped: 'queue_full',
    });
    await fail(...(await reruns()).map(keyOf));
    const rest = await rerunMany('k', { filter: {}, cursor }, bounded);
    expect(rest).toMatchObject({ queued: 2, stopped: null, refused: [], next_cursor: null });
    expect(await originsOf()).toEqual(idsOf(...origins));
  });

  it('counts what cannot be queued again by reason, with an example of each', async () => {
    const archived = await aFailedOne();
    await aFailedOne();
    const records = catalogue(here.bed.log);
    const { org_id, deployment, version } = here.tenant;
    await records.deployments.put({ ...deployment, archived: true });
    const { matched, queued, refused } = await rerunMany('k', { filter: {} });
    expect([matched, queued]).toEqual([2, 0]);
    expect(refused).toEqual([{ reason: 'deployment_gone', runs: 2, run_id: expect.any(String) }]);
    const single = await post(`${here.gateway.api}/run/${refused[0].run_id}/rerun`, here.tenant.key);
    expect(single.status).toBe(404);

    await records.deployments.put(deployment);
    const filter = {
      created_before: new Date(Date.parse((await viewOf(here.bed, archived)).run.created_at) + 1),
    };
    await here.bed.log.jsm.streams.purge('KV_CATALOGUE', {
      filter: `$KV.CATALOGUE.workflow_versions.${org_id}.${version.workflow_id}.*`,
    });
    expect(await rerunMany('k', { filter })).toMatchObject({
      matched: 1,
      refused: [{ reason: 'workflow_gone', runs: 1, run_id: archived.run_id }],
    });
  });
});

describe('an invalid request to run many runs again', () => {
  it.each([
    [undefined, 'body', 'missing'],
    [{}, 'body.filter', 'missing'],
    [{ filter: { deployments: 'x' } }, 'body.filter.deployments', 'extra_forbidden'],
    [{ filter: { status: 'done' } }, 'body.filter.status', 'enum'],
    [{ filter: {}, dryRun: true }, 'body.dryRun', 'extra_forbidden'],
    [{ filter: {}, cursor: 'x' }, 'body.cursor', 'value_error'],
    [{ filter: {} }, 'header.Idempotency-Key', 'missing'],
  ])('%j: %s is %s', async (asked, where, type) => {
    await aFailedOne();
    const { status, body } = await post(`${here.gateway.api}/runs/rerun`, here.tenant.key, asked);
    expect(status).toBe(422);
    expect(
      body.detail.map((problem: { loc: string[]; type: string }) => [problem.loc.join('.'), problem.type]),
    ).toEqual([[where, type]]);
    expect(await reruns()).toEqual([]);
  });

  it('is refused with a key that may only read, and while the views lack runs of the log', async () => {
    await aFailedOne();
    const reading = await aKey(here.bed.log, here.tenant, { scopes: ['runs:read'] });
    expect((await postKeyed(`${here.gateway.api}/runs/rerun`, reading, 'k', { filter: {} })).status).toBe(
      403,
    );
    const behind = await here.bed.gateway({ views: sqliteViews() });
    const { status, body } = await postKeyed(`${behind.api}/runs/rerun`, here.tenant.key, 'k', {
      filter: {},
    });
    expect([status, body.detail]).toEqual([503, expect.stringContaining('Try again')]);
    expect(await reruns()).toEqual([]);
  });
});
