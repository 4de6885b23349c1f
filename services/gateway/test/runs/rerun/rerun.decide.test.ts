import type { Deployment } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import { aRun, queued } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { rerun } from '../../../src/runs/rerun.ts';
import { folded } from '../../fixtures/runs/folded-runs.ts';

const key = aRun();
const origin = folded(
  queued(key, {
    idempotency: { request_sha256: 'c'.repeat(64) },
    webhook: 'https://hooks.example/',
    webhook_intermediate_status: true,
    gpu: 'H100',
    tags: ['a'],
    delay_s: 60,
  }),
);
const deployment: Deployment = {
  id: origin.request.deployment_id,
  org_id: key.org_id,
  workflow_id: newUuid(),
  workflow_version_id: newUuid(),
  machine_id: newUuid(),
  name: 'changed since',
  environment: 'production',
  gpu: 'T4',
  run_timeout_s: 1,
  start_deadline_s: 1,
  retry: { attempts: 1 },
  archived: false,
  created_at: '2026-01-01T00:00:00.000Z',
};
const facts = { deployment, version: { sha256: 'a'.repeat(64), inputs: [] } };
const user_id = newUuid();

describe('running a run again', () => {
  it('keeps everything that its origin was queued with, except the user, the origin and the delay', () => {
    const {
      idempotency: _idempotency,
      delay_s: _delay,
      inputs,
      inputs_blob: _blob,
      ...settings
    } = origin.request;
    expect(rerun(origin, facts, { inputs: undefined, user_id, draw: () => 7 })).toEqual({
      kind: 'queued',
      run: {
        settings: { ...settings, user_id, origin: 'replay', rerun_of: key.run_id },
        inputs: { kind: 'inline', value: inputs },
      },
    });
  });

  it('refers to the inputs of its origin, when they are a blob', () => {
    const ref = { sha256: 'd'.repeat(64), bytes: 5_000 };
    const large = { ...origin, request: { ...origin.request, inputs: null, inputs_blob: ref } };
    expect(rerun(large, facts, { inputs: undefined, user_id, draw: () => 7 })).toMatchObject({
      run: { inputs: { kind: 'blob', ref } },
    });
  });

  it('replaces all inputs of its origin', () => {
    expect(rerun(origin, facts, { inputs: {}, user_id, draw: () => 7 })).toMatchObject({
      run: { inputs: { kind: 'inline', value: {} } },
    });
  });

  it.each([
    ['no_deployment', { ...facts, deployment: undefined }],
    ['archived_deployment', { ...facts, deployment: { ...deployment, archived: true } }],
    ['no_workflow', { ...facts, version: undefined }],
  ] as const)('needs the deployment and its version: %s', (why, given) => {
    expect(rerun(origin, given, { inputs: undefined, user_id, draw: () => 7 })).toEqual({
      kind: 'refused',
      why,
    });
  });
});
