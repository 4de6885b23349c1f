import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { aRun, assigned, failed, queued, started } from '@runledger/testing/run-events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { factsOf, queueKeyed, queueSample, runIn } from '../../fixtures/runs/queued-runs.ts';
import { call, post, postKeyed } from '../../fixtures/requests/requests.ts';
import { aView, folded } from '../../fixtures/runs/folded-runs.ts';
import { HOOK } from '../../fixtures/runs/notified-runs.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let gateway: TestGateway;
let tenant: Tenant;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());
beforeEach(async () => {
  tenant = await bed.newTenant();
});

const urlOf = ({ run_id }: Pick<RunKey, 'run_id'>, { api } = gateway): string => `${api}/run/${run_id}/rerun`;
const rerun = (of: Pick<RunKey, 'run_id'>, body?: unknown, at = gateway) =>
  post(urlOf(of, at), tenant.key, body);
const show = async ({ run_id }: RunKey, key = tenant.key) =>
  (await call(`${gateway.api}/run/${run_id}?include=inputs`, key)).body;
const requestOf = async (key: RunKey) => {
  const read = await readRun(bed.log, key);
  if (read.kind !== 'found') throw new Error('the run is not in the log');
  return read.run.request;
};

describe('running a run again', () => {
  it('queues a run like the first one, also when the catalogue has changed', async () => {
    const { deployment, machine } = tenant;
    const fields = {
      inputs: { size: 64, tags: ['a'] },
      gpu: 'H100',
      webhook: HOOK,
      webhook_intermediate_status: true,
    };
    const origin = await queueSample(gateway, tenant, fields);
    await appendAll(bed.log, assigned(origin), started(origin), failed(origin));
    const records = catalogue(bed.log);
    await records.machines.put({ ...machine, version: '2', runner: { kind: 'program', program: 'other' } });
    await records.deployments.put({ ...deployment, gpu: 'T4', run_timeout_s: 5, retry: { attempts: 1 } });
    const again = runIn(tenant, await rerun(origin));
    expect(again.run_id).not.toBe(origin.run_id);
    const first = await requestOf(origin);
    expect(await requestOf(again)).toEqual({
      ...first,
      number: (first?.number ?? 0) + 1,
      origin: 'replay',
      rerun_of: origin.run_id,
    });
    const admin = await aKey(bed.log, tenant, { scopes: ['admin'] });
    expect(await show(again, admin)).toMatchObject({
      status: 'queued',
      origin: 'replay',
      rerun_of: origin.run_id,
      workflow_inputs: { size: 64, tags: ['a'] },
      gpu: 'H100',
      webhook: HOOK,
      webhook_status: 'not-started',
      webhook_intermediate_status: true,
      machine_version: '1',
    });
    expect((await show(origin)).rerun_of).toBeNull();
  });

  it('takes a complete set of other inputs; none, null and an empty body mean the same inputs', async () => {
    const origin = await queueSample(gateway, tenant, { inputs: { a: 1, b: 2 } });
    const inputsOf = async (body?: unknown) =>
      (await show(runIn(tenant, await rerun(origin, body)))).workflow_inputs;
    for (const body of [undefined, {}, { inputs: null }, { gpu: 'T4' }]) {
      expect(await inputsOf(body)).toEqual({ a: 1, b: 2 });
    }
    expect(await inputsOf({ inputs: { a: 3 } })).toEqual({ a: 3 });
    expect(await inputsOf({ inputs: {} })).toEqual({});
  });

  it('repeats the named run, also a rerun, for the user of the calling key', async () => {
    const origin = await queueSample(gateway, tenant, { inputs: { a: 1 } });
    const again = runIn(tenant, await rerun(origin, { inputs: { a: 2 } }));
    const user_id = newUuid();
    const key = await aKey(bed.log, tenant, { user_id });
    const third = runIn(tenant, await post(urlOf(again), key));
    expect(await requestOf(third)).toMatchObject({ rerun_of: again.run_id, inputs: { a: 2 }, user_id });
  });

  it('answers 404 for an unknown run, and for one of another organisation', async () => {
    const other = await bed.newTenant();
    const theirs = await queueSample(gateway, other);
    for (const run_id of [aRun().run_id, theirs.run_id]) {
      const { status, body } = await rerun({ run_id });
      expect([status, body]).toEqual([404, aRefusal('run_not_found', 'Run not found')]);
    }
    expect(await factsOf(bed, other)).toBe(1);
  });

  it('needs the deployment, as queueing does', async () => {
    const origin = await queueSample(gateway, tenant);
    await catalogue(bed.log).deployments.put({ ...tenant.deployment, archived: true });
    const { status, body } = await rerun(origin);
    expect([status, body]).toEqual([404, aRefusal('deployment_archived')]);
  });

  it('needs its version, and says so when it was deleted', async () => {
    const origin = await queueSample(gateway, tenant);
    const { org_id, version } = tenant;
    const key = `workflow_versions.${org_id}.${version.workflow_id}.*`;
    await bed.log.jsm.streams.purge('KV_CATALOGUE', { filter: `$KV.CATALOGUE.${key}` });
    const { status, body } = await rerun(origin);
    expect([status, body]).toEqual([409, aRefusal('workflow_gone', expect.stringContaining('was deleted'))]);
    expect(await factsOf(bed, tenant)).toBe(1);
  });

  it('works for a run whose events have expired', async () => {
    const views = sqliteViews();
    const viewing = await bed.gateway({ views });
    const gone = aRun(tenant.org_id);
    const { deployment, version } = tenant;
    const settings = {
      deployment_id: deployment.id,
      workflow_version_id: version.id,
      workflow_sha256: version.sha256,
      inputs: { old: true },
    };
    await views.save([
      aView(900_000, folded(queued(gone, settings), assigned(gone), started(gone), failed(gone))),
    ]);
    const again = runIn(tenant, await rerun(gone, undefined, viewing));
    expect(await requestOf(again)).toMatchObject({ inputs: { old: true }, rerun_of: gone.run_id });
  });

  it('refuses inputs as queueing does, and a key that may only read', async () => {
    const origin = await queueSample(gateway, tenant);
    const wrong = await rerun(origin, { inputs: { a: null, ['n'.repeat(257)]: 1 } });
    expect(wrong.status).toBe(422);
    expect(wrong.body.detail.map(({ type }: { type: string }) => type)).toEqual([
      'string_type',
      'string_too_long',
    ]);
    const many = Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`i${i}`, 1]));
    expect((await rerun(origin, { inputs: many })).status).toBe(413);
    expect((await rerun({ run_id: origin.run_id }, [])).status).toBe(422);
    const reading = await aKey(bed.log, tenant, { scopes: ['runs:read'] });
    expect((await post(urlOf(origin), reading)).status).toBe(403);
    expect(await factsOf(bed, tenant)).toBe(1);
  });
});

describe('running a run again with an idempotency key', () => {
  const rerunKeyed = (of: RunKey, idempotencyKey: string, body: object = {}, at = gateway) =>
    postKeyed(urlOf(of, at), tenant.key, idempotencyKey, body);

  it('queues one run for equal requests at two gateways, also after the deployment was archived', async () => {
    const second = await bed.gateway();
    const origin = await queueSample(gateway, tenant, { inputs: { a: 1 } });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => rerunKeyed(origin, 'k', {}, i % 2 === 0 ? gateway : second)),
    );
    const [run] = answers.map((answer) => runIn(tenant, answer));
    expect(new Set(answers.map(({ body }) => body.run_id)).size).toBe(1);
    expect(await factsOf(bed, tenant)).toBe(2);
    await catalogue(bed.log).deployments.put({ ...tenant.deployment, archived: true });
    expect(runIn(tenant, await rerunKeyed(origin, 'k', { inputs: null }, second))).toEqual(run);
  });

  it('is refused for another run, other inputs, or a key that queued one', async () => {
    const [origin, other] = [
      runIn(tenant, await queueKeyed(gateway, tenant, 'queued')),
      await queueSample(gateway, tenant),
    ];
    runIn(tenant, await rerunKeyed(origin, 'k'));
    const answers = [
      await rerunKeyed(other, 'k'),
      await rerunKeyed(origin, 'k', { inputs: { a: 1 } }),
      await rerunKeyed(origin, 'queued'),
      await queueKeyed(gateway, tenant, 'k'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([409, 409, 409, 409]);
    expect(await factsOf(bed, tenant)).toBe(3);
  });
});
