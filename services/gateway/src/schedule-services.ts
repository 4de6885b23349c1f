import { Schedule } from '@runledger/contracts/catalogue/schedules';
import { polledClock } from '@runledger/coordination/polled-clock';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { observedGauge, type Metrics } from '@runledger/service-kit/observability/metrics';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { now, type GatewayParts } from './gateway-parts.ts';
import type { Route } from './door/operation.ts';
import type { RunQueueing } from './run-queueing.ts';
import type { RunServices } from './run-services.ts';
import { cancelRun } from './runs/facts/cancel-run.ts';
import { handleSchedule, queueTime, scheduleMetrics } from './runs/schedules/queue-time.ts';
import { openSchedules } from './runs/schedules/due-schedules.ts';
import { scheduleRoutes } from './runs/schedules/schedules-routes.ts';

/** The operations on schedules, and what queues their runs. `open` ends it. */
export const scheduleServices = (
  { log, logger, instance, metrics: registry }: GatewayParts,
  { current, expire, quotas, schedules }: RunServices,
  { callbacks, deployments, limits }: RunQueueing,
  { queued: onQueued, conflict: onConflict }: GatewayMetrics,
  open: AsyncDisposableStack,
): Route[] => {
  const bucket = openBucket(log, 'SCHEDULES', Schedule);
  const brokerNow = polledClock(log, 'KV_SCHEDULES');
  const metrics = scheduleMetrics(registry);
  const writer = { service: 'gateway', instance } as const;
  const cancel = cancelRun({ log, current, expire, writer, now, onConflict });
  const queue = queueTime({ queue: deployments.queue, current, cancel, onQueued });
  const handle = handleSchedule({ bucket, queueTime: queue, brokerNow, metrics, logger });
  const opened = open.use(openSchedules({ log, bucket, handle, brokerNow, metrics, instance, logger }));
  observeSize(registry, opened.size);
  return scheduleRoutes({
    schedules,
    deployments,
    quota: quotas.schedules,
    callbacks,
    limits,
    brokerNow,
    now,
  });
};

const observeSize = (metrics: Metrics, size: () => number): void =>
  observedGauge(metrics, {
    name: 'runledger_gateway_schedules',
    help: 'Schedules of all organisations that this gateway keeps; 0 while another gateway does.',
    value: size,
  });
