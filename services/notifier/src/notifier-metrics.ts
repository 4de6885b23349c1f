import type { DeliveryAttemptResult, WebhookGivenUpReason } from '@runledger/contracts/events/webhook-event';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { streamFill, type StreamFill } from '@runledger/event-log/provision/stream-sizes';
import { Counter, Histogram, observedGauge, type Metrics } from '@runledger/service-kit/metrics';
import { verdictOf } from './core/conclusion.ts';
import type { NotifierState } from './core/state.ts';
import { countDeferred } from './timers.ts';

export interface NotifierMetrics {
  attempted(notification: 'intermediate' | 'final', reason: DeliveryAttemptResult): void;
  settled(end: 'delivered' | WebhookGivenUpReason): void;
  /** Seconds from the end of the run until its receiver accepted it. */
  accepted(seconds: number): void;
  /** Seconds that a timer came after its time. */
  late(seconds: number): void;
  deferred(): void;
  forgotten(): void;
}

const LAG_SECONDS = [
  0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 600, 3_600, 21_600, 86_400, 259_200,
];
const LATE_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60];

/** No label names a host: each value would be a series forever. */
export const notifierMetrics = (metrics: Metrics): NotifierMetrics => {
  const registers = [metrics];
  const attempts = new Counter({
    name: 'runledger_notifier_attempts_total',
    help: 'Delivery attempts, by their outcome and reason.',
    labelNames: ['notification', 'outcome', 'reason'],
    registers,
  });
  const settled = new Counter({
    name: 'runledger_notifier_deliveries_total',
    help: 'Deliveries of final notifications that ended, by how they ended.',
    labelNames: ['end'],
    registers,
  });
  const lag = new Histogram({
    name: 'runledger_notifier_lag_seconds',
    help: 'From the end of a run until its receiver accepted the notification.',
    buckets: LAG_SECONDS,
    registers,
  });
  const late = new Histogram({
    name: 'runledger_notifier_timer_lateness_seconds',
    help: 'How late a timer of a waiting delivery arrived.',
    buckets: LATE_SECONDS,
    registers,
  });
  const deferred = new Counter({
    name: 'runledger_notifier_deferrals_total',
    help: 'How often a delivery was deferred.',
    registers,
  });
  const forgotten = new Counter({
    name: 'runledger_notifier_reconciled_total',
    help: 'Notifications that only the reconciliation found. Anything but 0 is a defect, or TIMERS or the log lost messages.',
    registers,
  });
  return {
    attempted: (notification, reason) => attempts.inc({ notification, outcome: verdictOf(reason), reason }),
    settled: (end) => settled.inc({ end }),
    accepted: (seconds) => lag.observe(Math.max(seconds, 0)),
    late: (seconds) => late.observe(seconds),
    deferred: () => deferred.inc(),
    forgotten: () => forgotten.inc(),
  };
};

/** Gauges that are read when the metrics are collected; absent while the broker does not answer. */
export const observeNotifier = (metrics: Metrics, state: NotifierState, log: EventLog): void => {
  const gauge = (name: string, help: string, value: () => number | Promise<number | undefined>): void =>
    observedGauge(metrics, { name: `runledger_notifier_${name}`, help, value });
  const timers = (): Promise<StreamFill | undefined> => streamFill(log, 'TIMERS');
  gauge('in_flight', 'Delivery attempts that are being made.', () => state.limits.inFlight);
  gauge('waiting', 'Notifications in memory that wait for their turn.', () => state.waiting);
  gauge('open_breakers', 'Open breakers, of origins and receivers.', () => state.breakers.open);
  gauge('partitions', 'Partitions of the origins that this notifier holds.', () => state.partitions.size);
  gauge('deferred', 'Deferred deliveries, of all notifiers.', () =>
    countDeferred(log).catch(() => undefined),
  );
  gauge(
    'left_in_log',
    'Deliveries of this notifier that only the log holds, because TIMERS has no room for them.',
    () => state.partitions.values().reduce((sum, { left }) => sum + left.count, 0),
  );
  gauge(
    'timers_bytes',
    'Bytes of what waits in TIMERS, of all notifiers.',
    async () => (await timers())?.bytes,
  );
  gauge(
    'timers_limit_bytes',
    'Bytes that TIMERS may hold; nothing when it has no limit.',
    async () => (await timers())?.maxBytes,
  );
};
