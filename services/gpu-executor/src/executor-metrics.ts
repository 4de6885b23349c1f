import { Counter, observedGauge, type Metrics } from '@runledger/service-kit/observability/metrics';

export interface ExecutorMetrics {
  attemptOver(): void;
  /** The broker has stored a heartbeat. */
  beaten(): void;
}

export interface ObservedExecutor {
  readonly slots: number;
  readonly busy: () => number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

export const executorMetrics = (
  metrics: Metrics,
  { slots, busy, clock }: ObservedExecutor,
): ExecutorMetrics => {
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers: [metrics] });
  const over = counter('runledger_executor_attempts_total', 'Attempts that are over, however they ended.');
  const beats = counter('runledger_executor_heartbeats_total', 'Heartbeats that the broker has stored.');
  const gauge = (name: string, help: string, value: () => number): void =>
    observedGauge(metrics, { name, help, value });
  let lastBeat = clock();
  gauge('runledger_executor_slots', 'GPU slots that this executor offers.', () => slots);
  gauge('runledger_executor_slots_busy', 'Runs in the slots, the waiting ones included.', busy);
  gauge(
    'runledger_executor_silence_seconds',
    'How long the broker has stored no heartbeat. After a heartbeat period the scheduler gives this executor up.',
    () => (clock() - lastBeat) / 1_000,
  );
  return {
    attemptOver: () => over.inc(),
    beaten: () => {
      lastBeat = clock();
      beats.inc();
    },
  };
};
