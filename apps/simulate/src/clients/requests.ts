import type { RunEventOf } from '@runledger/contracts/events/run-event';
import { isExecuting, type Run } from '@runledger/contracts/fold/run';
import { gpuModel } from '@runledger/contracts/gpu';
import { runRequest } from '@runledger/testing/events/run-events';
import { deploymentIdOf, OPERATOR, orgIdOf, runIdOf, versionIdOf } from '../plan/ids.ts';
import { timeAt } from '../broker/broker.ts';
import type { PlannedDeployment, PlannedRun } from '../plan/plan.ts';

interface Stamp {
  readonly event_id: string;
  readonly time: string;
}

/** The request of every run, but for what differs. */
const REQUEST = runRequest({ inputs: {} });

export const queuedEvent = (
  { id, deployment, priority, key, crashes, delay_s, startAtMs }: PlannedRun,
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
    deployment_id: deploymentIdOf(planned.of ?? deployment),
    ...placementOf(planned),
    start_deadline_s: planned.start_deadline_s,
    run_timeout_s: planned.run_timeout_s,
    max_attempts: planned.max_attempts,
    ...(planned.weight !== undefined && { weight: planned.weight }),
    ...(planned.concurrency_limit !== undefined && { concurrency_limit: planned.concurrency_limit }),
    ...(priority !== undefined && { priority }),
    ...(key !== undefined && { concurrency_key: key }),
    ...(crashes !== undefined && { retry_on: ['crashed'] }),
    ...(delay_s !== undefined && { delay_s }),
    ...(startAtMs !== undefined && { start_at: timeAt(startAtMs) }),
  },
});

const placementOf = ({
  gpu,
  gpu_fallbacks,
  labels,
  version,
  warm_wait_s,
}: PlannedDeployment): Partial<typeof REQUEST> => ({
  gpu: gpuModel(gpu),
  ...(gpu_fallbacks && {
    gpu_fallbacks: gpu_fallbacks.map((one) => ({ gpu: gpuModel(one.gpu), after_s: one.after_s })),
  }),
  ...(labels && { labels }),
  ...(version !== undefined && { workflow_version_id: versionIdOf(version) }),
  ...(warm_wait_s !== undefined && { warm_wait_s }),
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
