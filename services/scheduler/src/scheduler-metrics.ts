import { GPU_MODELS } from '@runledger/contracts/gpu';
import { isEnded, type EndReason, type FinalStatus, type Run } from '@runledger/contracts/fold/run';
import type { RunEventType } from '@runledger/contracts/events/run-event';
import {
  Counter,
  Gauge,
  Histogram,
  observedGauge,
  type Metrics,
} from '@runledger/service-kit/observability/metrics';
import type { FleetCounts } from './core/queries/fleet-counts.ts';
import type { QueueLength } from './core/runs/live-runs.ts';

export interface SchedulerMetrics {
  assigned(): void;
  executorLost(): void;
  ended(reason: EndedHere): void;
  conflict(): void;
  heartbeat(): void;
  /** A fact was taken, and the run is this now. Only a scheduler that leads tells it, so that each counts once. */
  happened(type: RunEventType, run: Run): void;
}

export interface Observed {
  queues(): Iterable<QueueLength>;
  fleet(): FleetCounts;
  drainedNames(): number;
  /** Of the executor that was not heard for the longest time, in seconds; 0 without executors. */
  longestSilence(): number;
  leading(): boolean;
  /** The broker's clock, milliseconds since 1970; undefined while it is not known. */
  now(): number | undefined;
}

const ENDED_HERE = [
  'cancel_enforced',
  'requeued_executor_lost',
  'requeued_executor_left',
  'requeued_not_started',
  'run_timeout',
  'start_deadline',
  'no_capacity',
  'executor_lost',
  'deployment_removed',
  'internal_error',
] as const;
type EndedHere = (typeof ENDED_HERE)[number];

const ENDS: Readonly<Record<EndReason, FinalStatus>> = {
  completed: 'success',
  workflow_error: 'failed',
  executor_lost: 'failed',
  internal_error: 'failed',
  no_capacity: 'timeout',
  start_deadline: 'timeout',
  run_timeout: 'timeout',
  cancelled_by_client: 'cancelled',
  cancelled_by_operator: 'cancelled',
  deployment_removed: 'failed',
};

const WAIT_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400];

export const schedulerMetrics = (metrics: Metrics, observed: Observed): SchedulerMetrics => {
  observe(metrics, observed);
  const registers = [metrics];
  const counter = (name: string, help: string, labelNames: string[] = []): Counter =>
    new Counter({ name, help, labelNames, registers });
  const assignments = counter('runledger_scheduler_assignments_total', 'Runs assigned to a slot.');
  const losses = counter('runledger_scheduler_executors_lost_total', 'Executors declared lost.');
  const ends = counter('runledger_scheduler_ends_total', 'Runs and attempts ended here, by reason.', [
    'reason',
  ]);
  const conflicts = counter(
    'runledger_scheduler_conflicts_total',
    'Decisions that the log refused since something else happened first.',
  );
  const heartbeats = counter(
    'runledger_scheduler_heartbeats_total',
    'Heartbeats of executors that were heard.',
  );
  const runsEnded = counter(
    'runledger_scheduler_runs_ended_total',
    'Runs that ended, whoever ended them. Only the scheduler that leads counts, so the sum over all is right.',
    ['status', 'end_reason'],
  );
  // Series that begin at 1 hide their first event from whoever looks at what was added.
  for (const reason of ENDED_HERE) ends.inc({ reason }, 0);
  for (const [end_reason, status] of Object.entries(ENDS)) runsEnded.inc({ status, end_reason }, 0);
  const waited = new Histogram({
    name: 'runledger_scheduler_wait_seconds',
    help: 'From the moment a run was queued, or queued again, until it was assigned. Only the scheduler that leads counts.',
    labelNames: ['gpu'],
    buckets: WAIT_SECONDS,
    registers,
  });
  return {
    assigned: () => assignments.inc(),
    executorLost: () => losses.inc(),
    ended: (reason) => ends.inc({ reason }),
    conflict: () => conflicts.inc(),
    heartbeat: () => heartbeats.inc(),
    happened: (type, run) => {
      if (isEnded(run)) runsEnded.inc({ status: run.status, end_reason: run.end_reason });
      else if (type === 'RunAssigned' && run.attempt) {
        const seconds = (Date.parse(run.attempt.assigned_at) - Date.parse(run.queued_at)) / 1_000;
        waited.observe({ gpu: run.request.gpu }, Math.max(seconds, 0));
      }
    },
  };
};

/** What is looked at when somebody asks. */
const observe = (metrics: Metrics, observed: Observed): void => {
  const gauge = (name: string, help: string, value: () => number): void =>
    observedGauge(metrics, { name, help, value });
  const labelled = (
    name: string,
    help: string,
    labelNames: string[],
    tell: (set: (labels: Record<string, string>, value: number) => void) => void,
  ): void => {
    metrics.registerMetric(
      new Gauge({
        name,
        help,
        labelNames,
        registers: [],
        collect() {
          tell((labels, value) => this.set(labels, value));
        },
      }),
    );
  };
  const ofQueues = (name: string, help: string, value: (queue: QueueLength) => number): void => {
    labelled(name, help, ['gpu'], (set) => {
      for (const gpu of GPU_MODELS) set({ gpu }, 0);
      for (const queue of observed.queues()) set({ gpu: queue.gpu }, value(queue));
    });
  };
  ofQueues('runledger_scheduler_queue_length', 'Runs that wait for a slot.', ({ length }) => length);
  ofQueues(
    'runledger_scheduler_oldest_waiting_seconds',
    'How long the first run has waited.',
    ({ oldest }) => {
      const now = observed.now();
      return now === undefined || oldest === undefined ? 0 : Math.max(now - Date.parse(oldest), 0) / 1_000;
    },
  );
  labelled(
    'runledger_scheduler_executors',
    'Executors that are registered and not lost. Silent ones were not heard for half a heartbeat period.',
    ['state'],
    (set) => {
      for (const [state, count] of Object.entries(observed.fleet().executors)) set({ state }, count);
    },
  );
  labelled('runledger_scheduler_slots', 'GPU slots of the executors that are registered.', ['gpu'], (set) => {
    for (const { gpu, slots } of observed.fleet().byGpu) set({ gpu }, slots);
  });
  labelled('runledger_scheduler_slots_busy', 'GPU slots with a run, or promised to one.', ['gpu'], (set) => {
    for (const { gpu, busy } of observed.fleet().byGpu) set({ gpu }, busy);
  });
  gauge(
    'runledger_scheduler_drained_names',
    'Names of executors that are drained until somebody resumes them.',
    () => observed.drainedNames(),
  );
  gauge(
    'runledger_scheduler_longest_silence_seconds',
    'How long the most silent executor was not heard. After a heartbeat period it is lost.',
    () => observed.longestSilence(),
  );
  gauge('runledger_scheduler_leading', '1 while this scheduler decides, 0 while it stands by.', () =>
    observed.leading() ? 1 : 0,
  );
};
