import type { GpuModel } from '@runledger/contracts/gpu';
import { Gauge, observedGauge, type Metrics } from '@runledger/service-kit/observability/metrics';
import type { QueueLength } from '../core/runs/live-runs.ts';
import type { Scheduling } from '../core/scheduling.ts';
import type { GpuLabels } from './gpu-labels.ts';

export interface Observed {
  readonly scheduling: Pick<Scheduling, 'queues' | 'queries' | 'drainedNames'>;
  readonly leading: () => boolean;
  /** The broker's clock, milliseconds since 1970; undefined while it is not known. */
  readonly now: () => number | undefined;
}

/** Gauges that are computed when the metrics are read. */
export const observeScheduler = (metrics: Metrics, observed: Observed, gpuLabels: GpuLabels): void => {
  const byGpu = gaugesByGpu(metrics, observed, gpuLabels);
  observeQueues(observed, byGpu);
  observeFleet(metrics, observed, byGpu);
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
