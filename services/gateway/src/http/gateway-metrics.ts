import type { EventLog } from '@runledger/event-log/event-log';
import { runsIdentity } from '@runledger/event-log/read-run';
import { Counter, Gauge, Histogram, type Metrics } from '@runledger/service-kit/metrics';

export interface GatewayMetrics {
  /** `route` is the pattern, never the path: each value is a series for ever. */
  readonly answered: (route: string, method: string, status: number, seconds: number) => void;
  readonly queued: () => void;
  readonly conflict: () => void;
}

export const gatewayMetrics = (registry: Metrics): GatewayMetrics => {
  const registers = [registry];
  const labelNames = ['route', 'method', 'status'] as const;
  const requests = new Histogram({
    name: 'runledger_http_request_duration_seconds',
    help: 'Requests to the API by route, method and status, and how long they took.',
    labelNames,
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  });
  const queued = new Counter({
    name: 'runledger_runs_queued_total',
    help: 'Runs that this gateway has accepted.',
    registers,
  });
  const conflicts = new Counter({
    name: 'runledger_append_conflicts_total',
    help: 'Appends that came second and were decided on again.',
    registers,
  });
  return {
    answered: (route, method, status, seconds) =>
      requests.observe({ route, method, status: String(status) }, seconds),
    queued: () => queued.inc(),
    conflict: () => conflicts.inc(),
  };
};

/** How many messages the views are behind the log; nothing while another gateway projects. */
export const projectionLag = (registry: Metrics, log: EventLog, position: () => number | undefined): void => {
  const lag = new Gauge({
    name: 'runledger_projection_lag_messages',
    help: 'Messages of the log that are not in the run views yet; of the gateway that projects.',
    registers: [registry],
    async collect() {
      lag.reset();
      const present = position();
      if (present === undefined || !log.connected()) return;
      // A broker that is away is told of by the checks.
      const identity = await runsIdentity(log).catch(() => undefined);
      if (identity) lag.set(Math.max(identity.lastSequence - present, 0));
    },
  });
};
