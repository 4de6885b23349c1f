import { newUuid, orgId } from '@runledger/contracts/ids';
import { readRun } from '@runledger/event-log/read/read-run';
import { assigned, cancelled, started } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { createApiKey } from '../../../src/records/keys/api-keys.ts';
import { erasureRecords } from '../../../src/records/erasure.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { call, post, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { overEachViews } from '../../fixtures/views/over-each-views.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { untilErased } from '../../fixtures/views/erased-views.ts';
import { aMarkedTenant, type MarkedTenant } from './a-marked-tenant.ts';
import { tracesOf } from './traces.ts';

const DAY_MS = 86_400_000;

overEachViews('erasing an organisation', (here) => {
  const anOperator = async (of = here.tenant) =>
    aKey(here.bed.log, of, { scopes: ['runs:read', 'operator'] });
  const erase = async (
    { org_id, name }: Pick<MarkedTenant, 'org_id' | 'name'>,
    key: string,
    gateway = here.gateway,
  ): Promise<ApiAnswer> =>
    call(`${gateway.api}/organisations/${org_id}?name=${encodeURIComponent(name)}`, key, {
      method: 'DELETE',
    });
  const tombstone = async ({ org_id }: Pick<Tenant, 'org_id'>, key: string): Promise<ApiAnswer> =>
    call(`${here.gateway.api}/organisations/${org_id}/tombstone`, key);
  const untilQuiet = ({ org_id }: Pick<Tenant, 'org_id'>): Promise<unknown> =>
    waitFor('a pass that finds nothing', async () => {
      const erasure = await erasureRecords(here.bed.log).find(org_id);
      return erasure !== undefined && erasure.value.quiet_at !== null;
    });
  /** As if the ten minutes had passed. */
  const makeQuietForLong = ({ org_id }: Pick<Tenant, 'org_id'>): Promise<void> =>
    erasureRecords(here.bed.log).change(org_id, ({ quiet_at, ...erasure }) => ({
      ...erasure,
      quiet_at: new Date(Date.parse(quiet_at ?? '') - DAY_MS).toISOString(),
    }));
  const viewsOf = async ({ org_id }: MarkedTenant, { views }: TestGateway = here.gateway) => ({
    runs: (await views.listRuns({ org_id: orgId(org_id), limit: 10 })).items.length,
    blobs: await views.sumBlobBytes(orgId(org_id)),
    outputs: await views.sumOutputBytes(orgId(org_id), '2000-01-01'),
  });
  const NOTHING = { runs: 0, blobs: 0, outputs: 0 };

  it('leaves its tombstone, audit records and the facts of deleted runs, and touches no other one', async () => {
    const [marked, other] = [
      await aMarkedTenant(here.bed, here.gateway),
      await aMarkedTenant(here.bed, here.gateway),
    ];
    const operator = await anOperator();
    const { log } = here.bed;
    const before = await tracesOf(log, [marked.org_id, marked.word]);
    const streams = new Set(before.map((trace) => trace.split(' ')[0]));
    expect(streams).toEqual(
      new Set([
        'ACTIVITY',
        'AUDIT',
        'AUDIT_RIGHTS',
        'BLOBS',
        'DELIVERY_ATTEMPTS',
        'KV_CATALOGUE',
        'KV_FILES',
        'KV_KEYS',
        'KV_SCHEDULES',
        'KV_WEBHOOK_SECRETS',
        'LOGS',
        'OBJ_MODELS',
        'OBJ_OUTPUTS',
        'RUNS',
        'TIMERS',
        'WORKFLOWS',
      ]),
    );
    const ofOther = await tracesOf(log, [other.org_id, other.word]);

    expect(await erase(marked, operator)).toMatchObject({
      status: 200,
      body: { org_id: marked.org_id, state: 'erasing', erased_at: null },
    });
    await untilQuiet(marked);
    const left = async (word: string): Promise<string[]> => {
      const traces = (await tracesOf(log, [word])).map((trace) =>
        trace.replace(/^(RUNS|AUDIT|AUDIT_RIGHTS) .*/, '$1'),
      );
      return [...new Set(traces)].toSorted();
    };
    expect(await left(marked.word)).toEqual(['RUNS']);
    expect(await left(marked.org_id)).toEqual([
      'AUDIT',
      'AUDIT_RIGHTS',
      `KV_CATALOGUE $KV.CATALOGUE.erasures.${marked.org_id}`,
      'RUNS',
    ]);
    expect(await readRun(log, marked.run)).toMatchObject({ kind: 'deleted' });
    expect(await viewsOf(marked)).toEqual(NOTHING);
    expect(JSON.stringify(await here.gateway.views.find(marked.run))).not.toContain(marked.word);

    expect((await tombstone(marked, operator)).body).toMatchObject({ state: 'erasing' });
    await makeQuietForLong(marked);
    await waitFor('the end', async () => (await tombstone(marked, operator)).body.state === 'erased');
    const { body } = await tombstone(marked, operator);
    expect(body).toMatchObject({ erased_at: expect.any(String), erases: { keys: 3, runs: 1, files: 2 } });
    expect((await erase(marked, operator)).body).toEqual(body);

    expect(await tracesOf(log, [other.org_id, other.word])).toEqual(ofOther);
    expect((await call(`${here.gateway.api}/run/${other.run.run_id}`, other.key)).status).toBe(200);

    await using derived = await here.bed.gateway({ projecting: true, views: sqliteViews() });
    await waitFor('views that are derived again', async () => (await viewsOf(other, derived)).runs === 1);
    await untilErased(derived.views, marked.run);
    expect(await viewsOf(marked, derived)).toEqual(NOTHING);
  });

  it('ends what executes, and what is queued and made at that moment', async () => {
    const marked = await aMarkedTenant(here.bed, here.gateway);
    const operator = await anOperator();
    const { log } = here.bed;
    const executing = await queueSample(here.gateway, marked);
    await appendAll(log, assigned(executing), started(executing));
    const [queued, keys] = await Promise.all([
      Promise.all(
        Array.from({ length: 10 }, () =>
          post(`${here.gateway.api}/run/deployment/queue`, marked.key, {
            deployment_id: marked.deployment.id,
          }),
        ),
      ),
      Promise.all(
        Array.from({ length: 5 }, (_, at) =>
          post(`${here.gateway.api}/api-keys`, marked.key, { name: `key ${at}` }),
        ),
      ),
      erase(marked, operator),
    ]);
    await waitFor('the request to cancel', async () => {
      const read = await readRun(log, executing);
      return read.kind === 'found' && 'cancel' in read.run && read.run.cancel !== null;
    });
    expect((await tombstone(marked, operator)).body).toMatchObject({ state: 'erasing' });
    await appendAll(log, cancelled(executing));
    await untilQuiet(marked);
    const runs = queued.flatMap(({ status, body }) => (status === 200 ? [body.run_id as string] : []));
    for (const run_id of [executing.run_id, ...runs])
      expect(await readRun(log, { ...executing, run_id } as typeof executing)).toMatchObject({
        kind: 'deleted',
      });
    const { runs: deleted } = (await tombstone(marked, operator)).body.erases;
    expect(deleted).toBe(runs.length + 2);
    for (const key of [marked.key, ...keys.flatMap(({ status, body }) => (status === 201 ? [body.key] : []))])
      expect((await call(`${here.gateway.api}/runs`, key)).status).toBe(401);
    await expect(createApiKey(log, { ...marked, name: 'late' })).rejects.toThrow('was erased');
  });

  it('is for operators of other organisations, who give its name', async () => {
    const marked = await aMarkedTenant(here.bed, here.gateway);
    const operator = await anOperator();
    const own = await anOperator(marked);
    expect((await erase(marked, marked.key)).status).toBe(403);
    expect((await erase(marked, own)).body).toMatchObject({
      detail: expect.stringContaining('belongs to the organisation'),
      code: 'own_organisation',
    });
    expect((await erase({ ...marked, name: 'Another' }, operator)).body).toMatchObject({
      detail: expect.stringContaining('another name'),
      code: 'organisation_name_differs',
    });
    const unknown = await erase({ ...marked, org_id: newUuid() }, operator);
    expect(unknown.body.code).toBe('organisation_not_found');
    expect((await tombstone(marked, operator)).status).toBe(404);
    expect((await call(`${here.gateway.api}/run/${marked.run.run_id}`, marked.key)).status).toBe(200);
  });
});
