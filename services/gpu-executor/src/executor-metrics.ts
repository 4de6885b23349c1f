import { Counter, Gauge, observedGauge, type Metrics } from '@runledger/service-kit/observability/metrics';
import type { Isolation } from './isolation/isolation.ts';

export interface ExecutorMetrics {
  readonly attemptOver: () => void;
  /** The log no longer holds what the attempt rests on. */
  readonly attemptExpired: () => void;
  /** The broker has stored a heartbeat. */
  readonly heartbeat: () => void;
}

export interface ObservedExecutor {
  readonly slots: number;
  readonly isolation: Isolation['kind'];
  readonly busy: () => number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

export const executorMetrics = (
  metrics: Metrics,
  { slots, isolation, busy, clock }: ObservedExecutor,
): ExecutorMetrics => {
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers: [metrics] });
  const over = counter('runledger_executor_attempts_total', 'Attempts that are over, with any outcome.');
  const expired = counter(
    'runledger_executor_attempts_expired_total',
    'Attempts that were stopped because the log no longer holds their events.',
  );
  const heartbeats = counter('runledger_executor_heartbeats_total', 'Heartbeats that the broker has stored.');
  const gauge = (name: string, help: string, value: () => number): void =>
    observedGauge(metrics, { name, help, value });
  let lastHeartbeatMs = clock();
  new Gauge({
    name: 'runledger_executor_isolation',
    help: 'What keeps programs from everything that is not their run: 1 for the kind that is in effect.',
    labelNames: ['kind'],
    registers: [metrics],
  }).set({ kind: isolation }, 1);
  gauge('runledger_executor_slots', 'GPU slots of this executor.', () => slots);
  gauge('runledger_executor_slots_busy', 'Runs in the slots, including runs that wait for one to end.', busy);
  gauge(
    'runledger_executor_silence_seconds',
    'Time since the broker stored the last heartbeat. After a heartbeat period the scheduler declares this executor lost.',
    () => (clock() - lastHeartbeatMs) / 1_000,
  );
  return {
    attemptOver: () => over.inc(),
    attemptExpired: () => expired.inc(),
    heartbeat: () => {
      lastHeartbeatMs = clock();
      heartbeats.inc();
    },
  };
};
