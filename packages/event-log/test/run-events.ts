import { executorId, newUuid, orgId, runId, type ExecutorId } from '@runledger/contracts/ids';
import { RUN_EVENTS, type RunEventOf, type RunEventType } from '@runledger/contracts/run-event';
import type { RunKey } from '@runledger/contracts/subjects';

export const aRun = (): RunKey => ({ org_id: orgId(newUuid()), run_id: runId(newUuid()) });
export const ONE = executorId('box-000000000001');
export const OTHER = executorId('box-000000000002');

const event = <Type extends RunEventType>(
  type: Type,
  key: RunKey,
  attempt: number,
  executor: ExecutorId | null,
  data: RunEventOf<Type>['data'],
): RunEventOf<Type> =>
  // The compiler does not see that an envelope with this type's data is this type's event.
  ({
    type,
    version: 1,
    event_id: newUuid(),
    ...key,
    time: '2026-01-01T00:00:00.000Z',
    writer: { service: RUN_EVENTS[type].writer, instance: 'test' },
    attempt,
    executor_id: executor,
    correlation_id: 'request-1',
    causation_id: null,
    traceparent: null,
    data,
  }) as unknown as RunEventOf<Type>;

const id = '01920000-0000-7000-8000-000000000001';
const sha256 = 'a'.repeat(64);
const runner = { kind: 'program', program: 'render-image' } as const;

export const queued = (key: RunKey, inputs = {}): RunEventOf<'RunQueued'> =>
  event('RunQueued', key, 0, null, {
    user_id: id,
    origin: 'api',
    deployment_id: id,
    workflow_id: id,
    workflow_version_id: id,
    workflow_sha256: sha256,
    machine_id: id,
    machine_name: 'a10g',
    machine_type: 'program',
    machine_version: '1',
    runner,
    gpu: 'A10G',
    inputs,
    webhook: null,
    webhook_intermediate_status: false,
    start_deadline_s: 3600,
    run_timeout_s: 3600,
    max_attempts: 3,
    rerun_of: null,
  });

export const assigned = (key: RunKey, attempt = 1, executor = ONE): RunEventOf<'RunAssigned'> =>
  event('RunAssigned', key, attempt, executor, {
    occupancy_id: id,
    slot: 0,
    gpu: 'A10G',
    runner,
    workflow_version_id: id,
    workflow_sha256: sha256,
    workflow: {},
    inputs: {},
    run_timeout_s: 3600,
    executor_public_key: 'MCowBQYDK2VwAyEA',
  });

export const started = (key: RunKey, attempt = 1, executor = ONE): RunEventOf<'RunStarted'> =>
  event('RunStarted', key, attempt, executor, {});

export const requeued = (key: RunKey, attempt = 1, executor = ONE): RunEventOf<'RunRequeued'> =>
  event('RunRequeued', key, attempt, executor, { reason: 'executor_lost', message: 'no heartbeat' });

export const cancelRequested = (key: RunKey): RunEventOf<'RunCancelRequested'> =>
  event('RunCancelRequested', key, 0, null, { by: 'client', user_id: id });
