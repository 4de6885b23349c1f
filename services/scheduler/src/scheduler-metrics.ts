import { GPU_MODELS } from '@runledger/contracts/gpu';
import { Counter, Gauge, type Metrics } from '@runledger/service-kit/metrics';
import type { QueueLength } from './domain/live-runs.ts';

export interface SchedulerMetrics {
  assigned(): void;
  executorLost(): void;
  ended(reason: string): void;
  conflict(): void;
}

export interface Observed {
  queues(): Iterable<QueueLength>;
  executors(): number;
  leading(): boolean;
  /** The broker's clock, milliseconds since 1970; undefined while it is not known. */
  now(): number | undefined;
}

export const schedulerMetrics = (metrics: Metrics, observed: Observed): SchedulerMetrics => {
  const registers = [metrics];
  const gauge = (name: string, help: string, value: () => number): void => {
    metrics.registerMetric(
      new Gauge({
        name,
        help,
        registers: [],
        collect() {
          this.set(value());
        },
      }),
    );
  };
  const byGpu = (name: string, help: string, value: (queue: QueueLength) => number): void => {
    metrics.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: ['gpu'],
        registers: [],
        collect() {
          for (const gpu of GPU_MODELS) this.set({ gpu }, 0);
          for (const queue of observed.queues()) this.set({ gpu: queue.gpu }, value(queue));
        },
      }),
    );
  };
  byGpu('runledger_scheduler_queue_length', 'Runs that wait for a slot.', ({ length }) => length);
  byGpu('runledger_scheduler_oldest_waiting_seconds', 'How long the first run has waited.', ({ oldest }) => {
    const now = observed.now();
    return now === undefined || oldest === undefined ? 0 : Math.max(now - Date.parse(oldest), 0) / 1_000;
  });
  gauge('runledger_scheduler_executors', 'Executors that are registered and not lost.', () =>
    observed.executors(),
  );
  gauge('runledger_scheduler_leading', '1 while this scheduler decides, 0 while it stands by.', () =>
    observed.leading() ? 1 : 0,
  );
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
  return {
    assigned: () => assignments.inc(),
    executorLost: () => losses.inc(),
    ended: (reason) => ends.inc({ reason }),
    conflict: () => conflicts.inc(),
  };
};
