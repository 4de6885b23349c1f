import { aRun } from '@runledger/testing/run-events';
import { newUuid } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { DEFAULT_OPTIONS } from '../../../src/runs/facts/request-bounds.decide.ts';
import { queueRun, runQueued, type QueueRequest } from '../../../src/runs/facts/queue-run.decide.ts';

const created_at = '2026-01-01T00:00:00.000Z';
const { org_id, run_id } = aRun();
const machine = {
  id: newUuid(),
  org_id,
  name: 'box',
  gpu: 'A10G' as const,
  type: 'program',
  version: '7',
  runner: { kind: 'program' as const, program: 'render' },
  archived: false,
  created_at,
};
const deployment = {
  id: newUuid(),
  org_id,
  workflow_id: newUuid(),
  workflow_version_id: newUuid(),
  machine_id: machine.id,
  name: 'sample',
  environment: 'production',
  run_timeout_s: 60,
  start_deadline_s: 30,
  gpu: 'L4' as const,
  gpu_fallbacks: [{ gpu: 'A10G' as const, after_s: 60 }],
  labels: ['nvlink'],
  concurrency_limit: 4,
  weight: 2,
  retry: { attempts: 2 },
  archived: false,
  created_at,
};
const request: QueueRequest = {
  deployment_id: deployment.id,
  inputs: { size: 1 },
  webhook: null,
  webhook_intermediate_status: false,
  gpu: null,
  ...DEFAULT_OPTIONS,
  priority: 5,
  concurrency_key: 'user 7',
};
const envelope = {
  event_id: newUuid(),
  run_id,
  org_id,
  time: created_at,
  writer: { service: 'gateway', instance: 'one' },
  correlation_id: 'request-1',
  traceparent: null,
};
const by = { user_id: newUuid(), now: Date.parse(created_at), draw: () => 7 };
const facts = { deployment, machine, version: { sha256: 'a'.repeat(64), inputs: [] } };

describe('a queued run', () => {
  it('keeps the request, the user, and the present settings', () => {
    const decision = queueRun(request, facts, by);
    if (decision.kind !== 'queued') throw new Error('The request was refused.');
    const inputs = { inputs: request.inputs, inputs_blob: null };
    expect(decision.run.inputs).toEqual({ kind: 'inline', value: request.inputs });
    expect(runQueued({ ...decision.run.settings, ...inputs }, 17, undefined, envelope)).toEqual({
      ...envelope,
      type: 'RunQueued',
      version: 1,
      attempt: 0,
      executor_id: null,
      causation_id: null,
      data: {
        user_id: by.user_id,
        origin: 'api',
        deployment_id: deployment.id,
        workflow_id: deployment.workflow_id,
        workflow_version_id: deployment.workflow_version_id,
        workflow_sha256: 'a'.repeat(64),
        machine_id: machine.id,
        machine_name: 'box',
        machine_type: 'program',
        machine_version: '7',
        runner: { kind: 'program', program: 'render' },
        gpu: 'L4',
        gpu_fallbacks: [{ gpu: 'A10G', after_s: 60 }],
        inputs: { size: 1 },
        inputs_blob: null,
        webhook: null,
        webhook_intermediate_status: false,
        start_deadline_s: 30,
        run_timeout_s: 60,
        labels: ['nvlink'],
        concurrency_limit: 4,
        weight: 2,
        priority: 5,
        concurrency_key: 'user 7',
        max_attempts: 2,
        number: 17,
        rerun_of: null,
      },
    });
  });

  it('takes only the GPU model that its request names', () => {
    const decision = queueRun({ ...request, gpu: 'H100' }, facts, by);
    if (decision.kind !== 'queued') throw new Error('The request was refused.');
    expect(decision.run.settings.gpu).toBe('H100');
    expect(decision.run.settings).not.toHaveProperty('gpu_fallbacks');
  });

  it.each([
    [{ delay_s: 60 }, { delay_s: 60 }],
    [{ start_at: '2026-01-01T00:01:00.000Z' }, { start_at: '2026-01-01T00:01:00.000Z' }],
    [{ start_at: '2020-01-01T00:00:00.000Z' }, { start_at: '2020-01-01T00:00:00.000Z' }],
  ])('is delayed by at most what its deployment allows: %j', (start, kept) => {
    const bounded = { ...facts, deployment: { ...deployment, bounds: { max_delay_s: 60 } } };
    expect(queueRun({ ...request, ...start }, bounded, by)).toMatchObject({ run: { settings: kept } });
  });

  it.each([
    [{ delay_s: 60.001 }, 'delay_s', 60],
    [{ start_at: '2026-01-01T00:01:00.001Z' }, 'start_at', '2026-01-01T00:01:00.000Z'],
  ])('is refused with a longer delay: %j', (start, member, bound) => {
    const bounded = { ...facts, deployment: { ...deployment, bounds: { max_delay_s: 60 } } };
    expect(queueRun({ ...request, ...start }, bounded, by)).toEqual({
      kind: 'refused',
      why: {
        kind: 'wrong_request',
        inputs: [],
        bounds: [{ member, kind: 'above_maximum', bound, setting: 'bounds.max_delay_s' }],
      },
    });
  });

  it.each([
    ['deployment', { ...facts, deployment: undefined }],
    ['archived', { ...facts, deployment: { ...deployment, archived: true } }],
    ['machine', { ...facts, machine: undefined }],
    ['workflow version', { ...facts, version: undefined }],
  ] as const)('is refused when something that it needs is missing or archived: %s', (why, given) => {
    expect(queueRun(request, given, by)).toEqual({ kind: 'refused', why });
  });
});
