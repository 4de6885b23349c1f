import { Counter, Gauge, observedGauge, type Metrics } from '@runledger/service-kit/observability/metrics';
import type { Isolation } from './isolation/isolation.ts';
import type { NetworkHold } from './network/network-hold.ts';
import type { Enforcement } from './supervision/enforcement.ts';

export interface ExecutorMetrics {
  readonly attemptOver: () => void;
  /** The log no longer holds what the attempt rests on. */
  readonly attemptExpired: () => void;
  /** The broker has stored a heartbeat. */
  readonly heartbeat: () => void;
}

/** What keeps programs from everything that is not their run, and to their limits. */
export interface HeldBy {
  readonly isolation: Isolation['kind'];
  readonly network: NetworkHold;
  readonly limits: Enforcement['kind'];
}

export interface ObservedExecutor {
  readonly slots: number;
  readonly heldBy: HeldBy;
  readonly busy: () => number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

export const executorMetrics = (
  metrics: Metrics,
  { slots, heldBy, busy, clock }: ObservedExecutor,
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
  const inEffect = (name: string, help: string, kind: string): void =>
    new Gauge({ name, help, labelNames: ['kind'], registers: [metrics] }).set({ kind }, 1);
  inEffect(
    'runledger_executor_isolation',
    'What keeps programs from everything that is not their run: 1 for the kind that is in effect.',
    heldBy.isolation,
  );
  inEffect(
    'runledger_executor_network',
    'What keeps programs from the network of the machine: 1 for the kind that is in effect.',
    heldBy.network,
  );
  inEffect(
    'runledger_executor_limits',
    'What holds programs to their limits: 1 for the kind that is in effect.',
    heldBy.limits,
  );
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
