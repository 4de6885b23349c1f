import type { RunEventType } from '@runledger/contracts/events/run-event';
import {
  gpuOf,
  isEnded,
  waitsSince,
  type EndReason,
  type FinalStatus,
  type Run,
} from '@runledger/contracts/fold/run';
import { Counter, Histogram, type Metrics } from '@runledger/service-kit/observability/metrics';
import { DECIDED_ENDS, type DecisionMetrics } from '../effects/decision-metrics.ts';
import { GpuLabels } from './gpu-labels.ts';
import { observeScheduler, type Observed } from './observed-gauges.ts';

export interface SchedulerMetrics extends DecisionMetrics {
  readonly heartbeat: () => void;
  /** Called with the run after each fact, by the leading scheduler only, so that each fact counts once. */
  readonly onFact: (type: RunEventType, run: Run) => void;
}

const STATUSES_OF_END: Readonly<Record<EndReason, readonly FinalStatus[]>> = {
  completed: ['success'],
  workflow_error: ['failed'],
  executor_lost: ['failed'],
  internal_error: ['failed'],
  no_capacity: ['timeout'],
  start_deadline: ['timeout'],
  run_timeout: ['timeout'],
  // A store of outputs was full, or the log until the start deadline.
  storage_full: ['failed', 'timeout'],
  cancelled_by_client: ['cancelled'],
  cancelled_by_operator: ['cancelled'],
  deployment_removed: ['failed'],
  log_expired: ['failed'],
};

const WAIT_BUCKETS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400];

export const schedulerMetrics = (metrics: Metrics, observed: Observed): SchedulerMetrics => {
  const gpuLabels = new GpuLabels();
  observeScheduler(metrics, observed, gpuLabels);
  const counter = (name: string, help: string, labelNames: string[] = []): Counter =>
    new Counter({ name: `runledger_scheduler_${name}`, help, labelNames, registers: [metrics] });
  const assignments = counter('assignments_total', 'Runs assigned to a slot.');
  const losses = counter('executors_lost_total', 'Executors declared lost.');
  const ends = counter('ends_total', 'Runs and attempts that this scheduler ended, by reason.', ['reason']);
  const conflicts = counter('conflicts_total', 'Decisions that the log refused: another fact came first.');
  const heartbeats = counter('heartbeats_total', 'Heartbeats received from executors.');
  const runsEnded = counter(
    'runs_ended_total',
    'Runs that ended, by any service. Only the leading scheduler counts, so the sum over all schedulers is correct.',
    ['status', 'end_reason'],
  );
  // A series that begins at 1 hides its first event from queries for an increase.
  for (const reason of DECIDED_ENDS) ends.inc({ reason }, 0);
  for (const [end_reason, statuses] of Object.entries(STATUSES_OF_END))
    for (const status of statuses) runsEnded.inc({ status, end_reason }, 0);
  const waited = waitHistogram(metrics);
  return {
    assigned: () => assignments.inc(),
    executorLost: () => losses.inc(),
    ended: (reason) => ends.inc({ reason }),
    conflict: () => conflicts.inc(),
    heartbeat: () => heartbeats.inc(),
    onFact: (type, run) => {
      if (isEnded(run)) runsEnded.inc({ status: run.status, end_reason: run.end_reason });
      else if (type === 'RunAssigned' && run.attempt) {
        const seconds = (Date.parse(run.attempt.assigned_at) - Date.parse(waitsSince(run))) / 1_000;
        const gpu = gpuOf(run);
        gpuLabels.admit(gpu);
        waited.observe({ gpu: gpuLabels.of(gpu) }, Math.max(seconds, 0));
      }
    },
  };
};

const waitHistogram = (metrics: Metrics): Histogram =>
  new Histogram({
    name: 'runledger_scheduler_wait_seconds',
    help: 'From the time a run was queued, or queued again, or could start, until it was assigned. Only the leading scheduler counts.',
    labelNames: ['gpu'],
    buckets: WAIT_BUCKETS_S,
    registers: [metrics],
  });
