import { Counter, Gauge, type Metrics } from '@runledger/service-kit/metrics';

export type ExecutorMetrics = { attemptOver(): void };

export const executorMetrics = (metrics: Metrics, slots: number, busy: () => number): ExecutorMetrics => {
  const over = new Counter({
    name: 'runledger_executor_attempts_total',
    help: 'Attempts that are over, however they ended.',
    registers: [metrics],
  });
  metrics.registerMetric(
    new Gauge({
      name: 'runledger_executor_slots',
      help: 'GPU slots that this executor offers.',
      registers: [],
      collect() {
        this.set(slots);
      },
    }),
  );
  metrics.registerMetric(
    new Gauge({
      name: 'runledger_executor_slots_busy',
      help: 'Runs in the slots, the waiting ones included.',
      registers: [],
      collect() {
        this.set(busy());
      },
    }),
  );
  return { attemptOver: () => over.inc() };
};
