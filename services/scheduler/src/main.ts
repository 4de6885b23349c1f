import { newUuid } from '@runledger/contracts/ids';
import { brokerSettings } from '@runledger/event-log/broker-config';
import { openEventLog } from '@runledger/event-log/event-log';
import { awaitProvisioned } from '@runledger/event-log/provision';
import { openHealthServer, type Check } from '@runledger/service-kit/health';
import { announce, runService } from '@runledger/service-kit/lifecycle';
import { createLogger } from '@runledger/service-kit/logger';
import { createMetrics } from '@runledger/service-kit/metrics';
import { readSchedulerConfig, type SchedulerConfig } from './config.ts';
import { orStop } from './or-stop.ts';
import { scheduleRuns } from './schedule-runs.ts';

const start = async (
  config: SchedulerConfig,
  open: AsyncDisposableStack,
  stopping: AbortSignal,
): Promise<void> => {
  const instance = `scheduler-${newUuid().slice(-8)}`;
  const logger = createLogger({ service: 'scheduler', level: config.RUNLEDGER_LOG_LEVEL, instance });
  const metrics = createMetrics('scheduler');
  const checks: Record<string, Check> = { following: () => ({ ok: false, why: 'the log is not read yet' }) };
  const { RUNLEDGER_HEALTH_HOST: host, RUNLEDGER_HEALTH_PORT: port } = config;
  const health = open.use(await openHealthServer({ host, port, checks, metrics, logger, stopping }));

  const log = open.use(await orStop(openEventLog(brokerSettings(config, instance), logger), stopping));
  checks['broker'] = () => (log.connected() ? { ok: true } : { ok: false, why: 'the broker is away' });
  await awaitProvisioned(log, stopping);

  const settings = {
    instance,
    heartbeatPeriodMs: config.RUNLEDGER_HEARTBEAT_PERIOD_S * 1_000,
    cancelEnforceMs: config.RUNLEDGER_CANCEL_ENFORCE_S * 1_000,
    snapshotEveryMs: config.RUNLEDGER_SNAPSHOT_EVERY_S * 1_000,
    snapshotEveryEvents: config.RUNLEDGER_SNAPSHOT_EVERY_EVENTS,
    workflowCacheBytes: config.RUNLEDGER_WORKFLOW_CACHE_BYTES,
  };
  const scheduler = open.use(await scheduleRuns(log, settings, metrics, stopping));
  checks['following'] = () => scheduler.following();
  announce({ health: health.url });
};

const read = readSchedulerConfig(process.env);
await runService({
  name: 'scheduler',
  stopWithinMs: read.stopWithinMs,
  start: (open, stopping) => start(read.orThrow(), open, stopping),
});
