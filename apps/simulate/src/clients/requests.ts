import type { RunEventOf } from '@runledger/contracts/events/run-event';
import { isExecuting, type Run } from '@runledger/contracts/fold/run';
import { gpuModel } from '@runledger/contracts/gpu';
import { runRequest } from '@runledger/testing/events/run-events';
import { deploymentIdOf, OPERATOR, orgIdOf, runIdOf } from '../plan/ids.ts';
import type { PlannedDeployment, PlannedRun } from '../plan/plan.ts';

interface Stamp {
  readonly event_id: string;
  readonly time: string;
}

/** The request of every run, but for what differs. */
const REQUEST = runRequest({ inputs: {} });

export const queuedEvent = (
  { id, deployment, priority, key, crashes }: PlannedRun,
  planned: PlannedDeployment,
  stamp: Stamp,
): RunEventOf<'RunQueued'> => ({
  type: 'RunQueued',
  version: 1,
  ...stamp,
  run_id: runIdOf(id),
  org_id: orgIdOf(planned.organisation),
  writer: { service: 'gateway', instance: 'gateway' },
  attempt: 0,
  executor_id: null,
  correlation_id: 'simulation',
  causation_id: null,
  traceparent: null,
  data: {
    ...REQUEST,
    deployment_id: deploymentIdOf(deployment),
    gpu: gpuModel(planned.gpu),
    start_deadline_s: planned.start_deadline_s,
    run_timeout_s: planned.run_timeout_s,
    max_attempts: planned.max_attempts,
    ...(planned.weight !== undefined && { weight: planned.weight }),
    ...(planned.concurrency_limit !== undefined && { concurrency_limit: planned.concurrency_limit }),
    ...(priority !== undefined && { priority }),
    ...(key !== undefined && { concurrency_key: key }),
    ...(crashes !== undefined && { retry_on: ['crashed'] }),
  },
});

export const cancelEvent = (run: Run, stamp: Stamp): RunEventOf<'RunCancelRequested'> => ({
  type: 'RunCancelRequested',
  version: 1,
  ...stamp,
  run_id: run.run_id,
  org_id: run.org_id,
  writer: { service: 'gateway', instance: 'gateway' },
  attempt: run.attempt?.number ?? 0,
  executor_id: isExecuting(run) ? run.attempt.executor_id : null,
  correlation_id: 'simulation',
  causation_id: null,
  traceparent: null,
  data: { by: 'client', user_id: OPERATOR },
});
