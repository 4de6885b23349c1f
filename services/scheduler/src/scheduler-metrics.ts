import type { RunEventType } from '@runledger/contracts/events/run-event';
import {
  gpuOf,
  isEnded,
  waitsSince,
  type EndReason,
  type FinalStatus,
  type Run,
} from '@runledger/contracts/fold/run';
import { Counter, Histogram, type Metrics, Gauge, observedGauge } from '@runledger/service-kit/metrics';
import type { GpuModel } from '@runledger/contracts/gpu';
import { DECIDED_ENDS, type DecisionMetrics } from './store-decision.ts';
import type { QueueLength } from './core/runs/live-runs.ts';
import type { Scheduling } from './core/scheduling.ts';

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

interface Observed {
  readonly scheduling: Scheduling;
  readonly leading: () => boolean;
  /** The broker's clock, milliseconds since 1970; undefined while it is not known. */
  readonly now: () => number | undefined;
}

/** Gauges that are computed when the metrics are read. */
const observeScheduler = (metrics: Metrics, observed: Observed, gpuLabels: GpuLabels): void => {
  const byGpu = gaugesByGpu(metrics, observed, gpuLabels);
  observeQueues(observed, byGpu);
  observeFleet(metrics, observed, byGpu);
  const { scheduling, leading } = observed;
  const gauge = (name: string, help: string, value: () => number): void =>
    observedGauge(metrics, { name: `runledger_scheduler_${name}`, help, value });
  gauge(
    'runs_waiting_for_room',
    'Runs that wait while the log has no room for another attempt, although a slot is free; 0 otherwise.',
    () => (scheduling.queries.isShortOfCapacity() ? waitingRuns(scheduling.queues()) : 0),
  );
  gauge(
    'drained_names',
    'Executor names that are drained until an operator resumes them.',
    () => [...scheduling.drainedNames()].length,
  );
  gauge(
    'longest_silence_seconds',
    'The longest time since the last heartbeat of an executor. After a heartbeat period it is lost.',
    () => scheduling.queries.longestSilence() / 1_000,
  );
  gauge('leading', '1 while this scheduler decides, 0 while it stands by.', () => (leading() ? 1 : 0));
};

/** A number for each model, from all items that have its label. */
type GaugeByGpu = <Item extends { readonly gpu: GpuModel }>(
  name: string,
  help: string,
  items: () => Iterable<Item>,
  value: (items: readonly Item[]) => number,
) => void;

const gaugesByGpu =
  (metrics: Metrics, { scheduling }: Observed, gpuLabels: GpuLabels): GaugeByGpu =>
  (name, help, items, value) =>
    labelledGauge(metrics, { name, help, label: 'gpu' }, (set) => {
      for (const { gpu } of scheduling.queries.fleetCounts().byGpu) gpuLabels.admit(gpu);
      for (const label of gpuLabels.all()) set(label, 0);
      const labelled = Map.groupBy(items(), ({ gpu }) => gpuLabels.of(gpu));
      for (const [label, ofLabel] of labelled) set(label, value(ofLabel));
    });

const observeQueues = ({ scheduling, now }: Observed, byGpu: GaugeByGpu): void => {
  const queues = () => scheduling.queues();
  const age = (nowMs: number | undefined, { oldest }: QueueLength): number =>
    nowMs === undefined || oldest === undefined ? 0 : Math.max(nowMs - Date.parse(oldest), 0) / 1_000;
  byGpu('queue_length', 'Runs that wait for a slot.', queues, (all) => sumOf(all, ({ length }) => length));
  const delayed = () => scheduling.queries.delayedRuns();
  byGpu('delayed_runs', 'Runs that wait for a time, and for no slot yet.', delayed, (all) =>
    sumOf(all, ({ count }) => count),
  );
  byGpu('oldest_waiting_seconds', 'How long the run that was queued first has waited.', queues, (all) => {
    const nowMs = now();
    return all.reduce((longest, queue) => Math.max(longest, age(nowMs, queue)), 0);
  });
};

const sumOf = <Item>(items: readonly Item[], of: (item: Item) => number): number =>
  items.reduce((sum, item) => sum + of(item), 0);

const waitingRuns = (queues: Iterable<QueueLength>): number => sumOf([...queues], ({ length }) => length);

const observeFleet = (metrics: Metrics, { scheduling }: Observed, byGpu: GaugeByGpu): void => {
  const counts = () => scheduling.queries.fleetCounts();
  const executors = {
    name: 'executors',
    help: 'Executors that are registered and not lost. An unresponsive one sent no heartbeat for half a heartbeat period.',
    label: 'state',
  };
  labelledGauge(metrics, executors, (set) => {
    for (const [state, count] of Object.entries(counts().executors)) set(state, count);
  });
  const slots = () => counts().byGpu;
  byGpu('slots', 'GPU slots of the registered executors.', slots, (all) =>
    sumOf(all, ({ slots: count }) => count),
  );
  byGpu('slots_busy', 'GPU slots with a run, or with an assignment that is being stored.', slots, (all) =>
    sumOf(all, ({ busy }) => busy),
  );
};

interface LabelledGauge {
  readonly name: string;
  readonly help: string;
  readonly label: string;
}

const labelledGauge = (
  metrics: Metrics,
  { name, help, label }: LabelledGauge,
  collect: (set: (labelValue: string, value: number) => void) => void,
): void => {
  metrics.registerMetric(
    new Gauge({
      name: `runledger_scheduler_${name}`,
      help,
      labelNames: [label],
      registers: [],
      collect() {
        collect((labelValue, value) => this.set({ [label]: labelValue }, value));
      },
    }),
  );
};

/** The label of the models that have none of their own. No model is written in lower case. */
const OTHER_GPU = 'other';

/** Far more models than a fleet has. Each value of a label is a time series for as long as the process lives. */
const MAX_MODELS = 100;

/**
 * The values of the label `gpu`. Clients name any model, so only a model that an executor has, or had since this process
 * started, is a value of its own.
 */
class GpuLabels {
  readonly #models = new Set<GpuModel>();

  /** Called with each model that an executor has. */
  admit(gpu: GpuModel): void {
    if (this.#models.size < MAX_MODELS) this.#models.add(gpu);
  }

  of(gpu: GpuModel): string {
    return this.#models.has(gpu) ? gpu : OTHER_GPU;
  }

  all(): readonly string[] {
    return [...this.#models, OTHER_GPU];
  }
}
