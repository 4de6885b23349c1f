import type { ScheduleOutcome } from '@runledger/contracts/catalogue/schedules';
import { Counter, Histogram, type Metrics } from '@runledger/service-kit/observability/metrics';

export interface ScheduleMetrics {
  /** So many times have this outcome. */
  readonly handled: (outcome: ScheduleOutcome['outcome'], times: number) => void;
  /** From a time until its run was queued. */
  readonly late: (seconds: number) => void;
  /** A schedule could not be handled, and is tried again. */
  readonly failed: () => void;
}

const OUTCOMES = ['queued', 'skipped', 'missed', 'refused'] as const satisfies ScheduleOutcome['outcome'][];
const LATE_SECONDS = [0.25, 0.5, 1, 2, 5, 15, 60, 300, 3_600, 86_400];

/** No label holds an organisation or a schedule: each would be a series forever. */
export const scheduleMetrics = (registry: Metrics): ScheduleMetrics => {
  const registers = [registry];
  const handled = new Counter({
    name: 'runledger_gateway_schedule_times_total',
    help: 'Times of schedules, by what came of them.',
    labelNames: ['outcome'],
    registers,
  });
  // A rate would not show the first event of a series that begins at 1.
  for (const outcome of OUTCOMES) handled.inc({ outcome }, 0);
  const late = new Histogram({
    name: 'runledger_gateway_schedule_late_seconds',
    help: 'From a time of a schedule until its run was queued, on the clock of the broker.',
    buckets: LATE_SECONDS,
    registers,
  });
  const failed = new Counter({
    name: 'runledger_gateway_schedule_failures_total',
    help: 'Schedules that could not be handled, and were tried again.',
    registers,
  });
  return {
    handled: (outcome, times) => handled.inc({ outcome }, times),
    late: (seconds) => late.observe(seconds),
    failed: () => failed.inc(),
  };
};
