import { GPU_MODELS } from '@runledger/contracts/gpu';
import { Gauge, observedGauge, type Metrics } from '@runledger/service-kit/observability/metrics';
import type { QueueLength } from '../core/runs/live-runs.ts';
import type { Scheduling } from '../core/scheduling.ts';

export interface Observed {
  readonly scheduling: Pick<Scheduling, 'queues' | 'queries' | 'drainedNames'>;
  readonly leading: () => boolean;
  /** The broker's clock, milliseconds since 1970; undefined while it is not known. */
  readonly now: () => number | undefined;
}

/** Gauges that are computed when the metrics are read. */
export const observeScheduler = (metrics: Metrics, observed: Observed): void => {
  observeQueues(metrics, observed);
  observeFleet(metrics, observed);
  const { scheduling, leading } = observed;
  const gauge = (name: string, help: string, value: () => number): void =>
    observedGauge(metrics, { name: `runledger_scheduler_${name}`, help, value });
  gauge(
    'runs_waiting_for_room',
    'Runs that wait while the log has no room for another attempt, although a slot is free; 0 otherwise.',
    () => (scheduling.queries.isShortOfRoom() ? waitingRuns(scheduling.queues()) : 0),
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

const observeQueues = (metrics: Metrics, { scheduling, now }: Observed): void => {
  const ofQueues = (name: string, help: string, value: (queue: QueueLength) => number): void =>
    labelledGauge(metrics, { name, help, label: 'gpu' }, (set) => {
      for (const gpu of GPU_MODELS) set(gpu, 0);
      for (const queue of scheduling.queues()) set(queue.gpu, value(queue));
    });
  ofQueues('queue_length', 'Runs that wait for a slot.', ({ length }) => length);
  ofQueues('oldest_waiting_seconds', 'How long the run that was queued first has waited.', ({ oldest }) => {
    const nowMs = now();
    return nowMs === undefined || oldest === undefined ? 0 : Math.max(nowMs - Date.parse(oldest), 0) / 1_000;
  });
};

const waitingRuns = (queues: Iterable<QueueLength>): number =>
  [...queues].reduce((sum, { length }) => sum + length, 0);

const observeFleet = (metrics: Metrics, { scheduling }: Observed): void => {
  const counts = () => scheduling.queries.fleetCounts();
  const executors = {
    name: 'executors',
    help: 'Executors that are registered and not lost. An unresponsive one sent no heartbeat for half a heartbeat period.',
    label: 'state',
  };
  labelledGauge(metrics, executors, (set) => {
    for (const [state, count] of Object.entries(counts().executors)) set(state, count);
  });
  const slots = { name: 'slots', help: 'GPU slots of the registered executors.', label: 'gpu' };
  labelledGauge(metrics, slots, (set) => {
    for (const { gpu, slots: count } of counts().byGpu) set(gpu, count);
  });
  const busy = {
    name: 'slots_busy',
    help: 'GPU slots with a run, or with an assignment that is being stored.',
    label: 'gpu',
  };
  labelledGauge(metrics, busy, (set) => {
    for (const { gpu, busy: count } of counts().byGpu) set(gpu, count);
  });
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
