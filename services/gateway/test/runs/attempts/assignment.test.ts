import { createHash } from 'node:crypto';
import { blobSubject } from '@runledger/contracts/blobs';
import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { orgId, runId } from '@runledger/contracts/ids';
import {
  aRun,
  assigned,
  cancelRequested,
  EXECUTOR,
  OTHER_EXECUTOR,
  queued,
  requeued,
  failed,
  started,
} from '@runledger/testing/run-events';
import { readRun } from '@runledger/event-log/read/read-run';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogue as catalogueOf } from '../../../src/records/catalogue/catalogue.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { forgetBefore, untilOlder } from '../../fixtures/runs/forgotten-log.ts';
import { aMachine } from '../../records/catalogue/a-catalogue.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { call, post, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

interface Attempt {
  readonly run: RunKey;
  readonly token: string;
}

/** A queued run that is assigned, and has not started. */
const anAssigned = async (run?: RunKey): Promise<Attempt> => {
  const key = run ?? (await queueSample(gateway, bed.tenant));
  const keys = await newAttemptKeys();
  await appendAll(bed.log, assigned(key, { publicKey: keys.publicKey }));
  return { run: key, token: await signAttempt(keys, key, 1) };
};

const request = (
  { run, token }: Attempt,
  { attempt = 1, query = '', token: other }: { attempt?: number; query?: string; token?: string | null } = {},
): Promise<ApiAnswer> => {
  const path = `/executions/${run.org_id}/${run.run_id}/${attempt}/assignment${query}`;
  return call(`${gateway.url}${path}`, other === undefined ? token : other);
};

const requestOf = async (key: RunKey) => {
  const read = await readRun(bed.log, key);
  if (read.kind !== 'found') throw new Error(read.kind);
  return read.run.request;
};
const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('the assignment of an attempt', () => {
  it('has the workflow and nothing else when the event has the rest', async () => {
    const attempt = await anAssigned();
    const { status, body, headers } = await request(attempt);
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    const { workflow, ...others } = body;
    const { workflow_sha256 } = await requestOf(attempt.run);
    expect(sha256Of(workflow)).toBe(workflow_sha256);
    expect(others).toEqual({
      inputs: null,
      secret_inputs: {},
      input_targets: [],
      log_masks: null,
      secrets: {},
    });
  });

  it('has no workflow when the executor has it, and only then', async () => {
    const attempt = await anAssigned();
    const { workflow_sha256 } = await requestOf(attempt.run);
    const has = (sha256: string) => request(attempt, { query: `?has_workflow=${sha256}` });
    expect((await has(workflow_sha256)).body.workflow).toBeNull();
    expect(sha256Of((await has('f'.repeat(64))).body.workflow)).toBe(workflow_sha256);
  });

  it('has inputs that are not in the log, as they were stored', async () => {
    const inputs = { prompt: 'x'.repeat(50_000) };
    const run = await queueSample(gateway, bed.tenant, { inputs });
    const { body } = await request(await anAssigned(run));
    const { inputs_blob } = await requestOf(run);
    expect(sha256Of(body.inputs)).toBe(inputs_blob?.sha256);
    expect(JSON.parse(body.inputs)).toEqual(inputs);
  });

  it('is given after a cancel request, which the executor may not have read yet', async () => {
    const attempt = await anAssigned();
    await appendAll(bed.log, cancelRequested(attempt.run, 1, EXECUTOR));
    expect((await request(attempt)).status).toBe(200);
  });

  it('is not given with another token than that of the attempt', async () => {
    const attempt = await anAssigned();
    const other = await anAssigned();
    const elsewhere = { ...attempt, run: aRun() };
    const foreign = { ...attempt, run: { ...attempt.run, org_id: elsewhere.run.org_id } };
    const answers = await Promise.all([
      request({ ...attempt, token: other.token }),
      request(attempt, { token: null }),
      request(attempt, { token: 'x' }),
      request(attempt, { token: bed.tenant.key }),
      request(attempt, { attempt: 2 }),
      request(elsewhere),
      request(foreign),
    ]);
    const refused = aRefusal('attempt_token_invalid', 'This is not the token of this attempt');
    for (const { status, body } of answers) expect([status, body]).toEqual([401, refused]);
  });

  it('is not given when the attempt is over', async () => {
    const ended = await anAssigned();
    await appendAll(bed.log, failed(ended.run));
    expect(await request(ended)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('Attempt 1 is over') },
    });
    const lost = await anAssigned();
    await appendAll(bed.log, requeued(lost.run));
    expect((await request(lost)).status).toBe(409);
    await appendAll(bed.log, assigned(lost.run, { attempt: 2, executor: OTHER_EXECUTOR }));
    expect((await request(lost)).status).toBe(409);
  });

  it('says which of the workflow and the inputs is lost, and what to do', async () => {
    const run = aRun(bed.tenant.org_id);
    const lost = { sha256: 'e'.repeat(64), bytes: 5_000 };
    await appendAll(bed.log, queued(run, { workflow_sha256: lost.sha256, inputs: null, inputs_blob: lost }));
    const attempt = await anAssigned(run);
    expect(await request(attempt)).toMatchObject({
      status: 410,
      body: aRefusal('assigned_workflow_lost', expect.stringContaining('Create another version')),
    });
    expect(await request(attempt, { query: `?has_workflow=${lost.sha256}` })).toMatchObject({
      status: 410,
      body: aRefusal('assigned_inputs_lost', expect.stringContaining('Queue it again')),
    });
  });

  it('says which of them is damaged, which is not the same', async () => {
    const run = await queueSample(gateway, bed.tenant, { inputs: { prompt: 'y'.repeat(50_000) } });
    const { workflow_sha256, inputs_blob } = await requestOf(run);
    const { org_id } = run;
    const attempt = await anAssigned(run);
    await bed.log.js.publish(blobSubject('WORKFLOWS', org_id, workflow_sha256), '{}');
    await bed.log.js.publish(blobSubject('BLOBS', org_id, inputs_blob?.sha256 ?? ''), '{}');
    for (const [query, code] of [
      ['', 'assigned_workflow_damaged'],
      [`?has_workflow=${workflow_sha256}`, 'assigned_inputs_damaged'],
    ] as const)
      expect(await request(attempt, { query })).toMatchObject({
        status: 424,
        body: aRefusal(code, expect.stringMatching(/damaged in the store\. \w+/)),
      });
  });

  it('is not refused for a wrong token when the beginning of the run has left the log', async () => {
    const attempt = await anAssigned();
    await untilOlder(bed.log);
    const last = await appendAll(bed.log, started(attempt.run));
    await forgetBefore(bed.log, last);
    expect(await request(attempt)).toMatchObject({ status: 503, body: { code: 'run_unreadable' } });
  });
});

describe('what a version and a deployment say of a run', () => {
  const WORKFLOW = { '3': { class_type: 'KSampler', inputs: { seed: 1 } } };
  const SEED = { name: 'seed', type: 'integer', node: '3', field: 'seed' };
  const queueWith = async (inputs: readonly object[], log_masks?: readonly string[]): Promise<RunKey> => {
    const { org_id } = bed.tenant;
    const admin = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
    const create = async (path: string, body: object) =>
      (await post(`${gateway.api}${path}`, admin, body)).body;
    const workflow = await create('/workflows', { name: 'portrait' });
    const version = await create(`/workflows/${workflow.id}/versions`, { workflow: WORKFLOW, inputs });
    const machine = await create('/machines', aMachine);
    const deployment = await create('/deployments', {
      name: 'portrait',
      workflow_version_id: version.id,
      machine_id: machine.id,
      ...(log_masks && { log_masks }),
    });
    const { run_id } = await create('/run/deployment/queue', { deployment_id: deployment.id });
    return { org_id: orgId(org_id), run_id: runId(run_id) };
  };

  it('is in its assignment: which nodes take its inputs, and what its log masks', async () => {
    const run = await queueWith([SEED, { name: 'note', type: 'string' }], ['sk-[a-z]+']);
    expect(await requestOf(run)).toMatchObject({ has_input_targets: true, has_log_masks: true });
    expect(await request(await anAssigned(run))).toMatchObject({
      status: 200,
      body: { input_targets: [{ name: 'seed', node: '3', field: 'seed' }], log_masks: ['sk-[a-z]+'] },
    });
  });

  it('is gone with the version, and the refusal says what to do', async () => {
    const run = await queueWith([SEED]);
    const { workflow_version_id } = await requestOf(run);
    const version = await catalogueOf(bed.log).versions.get(run.org_id, workflow_version_id);
    await bed.log.jsm.streams.purge('KV_CATALOGUE', {
      filter: `$KV.CATALOGUE.workflow_versions.${run.org_id}.${version?.workflow_id}.*`,
    });
    expect(await request(await anAssigned(run))).toMatchObject({
      status: 410,
      body: { code: 'assigned_version_deleted' },
    });
  });

  it('is nothing when they say nothing, and the run says so', async () => {
    const { has_input_targets, has_log_masks } = await requestOf(
      await queueWith([{ name: 'seed', type: 'integer' }]),
    );
    expect([has_input_targets, has_log_masks]).toEqual([undefined, undefined]);
  });
});
