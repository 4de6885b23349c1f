import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { assigned } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  aCatalogueApi,
  aMachine,
  type CatalogueApi,
  type Client,
} from '../../records/catalogue/a-catalogue.ts';
import { post } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';

let catalogue: CatalogueApi;
let admin: Client;
beforeAll(async () => {
  catalogue = await aCatalogueApi();
  admin = await catalogue.admin();
});
afterAll(() => catalogue[Symbol.asyncDispose]());

const WORKFLOW = { '3': { class_type: 'KSampler', inputs: { seed: 1 } } };

const queueWith = async (inputs: readonly object[]): Promise<RunKey> => {
  const { body: workflow } = await admin.post('/workflows', { name: 'portrait' });
  const { body: version } = await admin.post(`/workflows/${workflow.id}/versions`, {
    workflow: WORKFLOW,
    inputs,
  });
  const { body: machine } = await admin.post('/machines', aMachine);
  const request = { name: 'portrait', workflow_version_id: version.id, machine_id: machine.id };
  const { body: deployment } = await admin.post('/deployments', request);
  const { tenant } = catalogue.bed;
  const { body } = await post(`${catalogue.api}/run/deployment/queue`, tenant.key, {
    deployment_id: deployment.id,
  });
  return { org_id: orgId(tenant.org_id), run_id: runId(body.run_id) };
};

const hasTargets = async (run: RunKey): Promise<boolean | undefined> => {
  const read = await readRun(catalogue.bed.log, run);
  return read.kind === 'found' ? read.run.request.has_input_targets : undefined;
};

const fetchTargets = async (
  run: RunKey,
  authorization?: string,
): Promise<{ status: number; body: unknown }> => {
  const keys = await newAttemptKeys();
  await appendAll(catalogue.bed.log, assigned(run, { publicKey: keys.publicKey }));
  const token = authorization ?? `Bearer ${await signAttempt(keys, run, 1)}`;
  const { origin } = new URL(catalogue.api);
  const url = `${origin}/executions/${run.org_id}/${run.run_id}/1/input-targets`;
  const response = await fetch(url, { headers: { authorization: token } });
  return { status: response.status, body: await response.json() };
};

describe('the nodes that take the inputs of a run', () => {
  it('are those that its version names, and its executor fetches them', async () => {
    const run = await queueWith([
      { name: 'seed', type: 'integer', default: 7, node: '3', field: 'seed' },
      { name: 'note', type: 'string' },
    ]);
    expect(await hasTargets(run)).toBe(true);
    expect(await fetchTargets(run)).toEqual({
      status: 200,
      body: [{ name: 'seed', node: '3', field: 'seed' }],
    });
  });

  it('are not fetched by anybody else', async () => {
    const run = await queueWith([{ name: 'seed', type: 'integer', node: '3', field: 'seed' }]);
    expect((await fetchTargets(run, 'Bearer somebody')).status).toBe(401);
  });

  it('are gone with the version, and the refusal says what to do', async () => {
    const run = await queueWith([{ name: 'seed', type: 'integer', node: '3', field: 'seed' }]);
    const read = await readRun(catalogue.bed.log, run);
    const id = read.kind === 'found' ? read.run.request.workflow_version_id : '';
    await catalogue.bed.log.jsm.streams.purge('KV_CATALOGUE', {
      filter: `$KV.CATALOGUE.workflow_versions.${run.org_id}.${id}`,
    });
    const { status, body } = await fetchTargets(run);
    expect([status, body]).toMatchObject([410, { code: 'assigned_version_deleted' }]);
  });

  it('are none when the version names none, and the run says so', async () => {
    expect(await hasTargets(await queueWith([{ name: 'seed', type: 'integer' }]))).toBeUndefined();
  });
});
