import { randomBytes } from 'node:crypto';
import { brokerSettings } from '@runledger/event-log/broker-config';
import { openEventLog } from '@runledger/event-log/event-log';
import { awaitProvisioned } from '@runledger/event-log/provision';
import { openHealthServer, type Check } from '@runledger/service-kit/health';
import { announce, runService } from '@runledger/service-kit/lifecycle';
import { createLogger } from '@runledger/service-kit/logger';
import { createMetrics } from '@runledger/service-kit/metrics';
import { readGatewayConfig, type GatewayConfig } from './config.ts';
import { gateway } from './gateway.ts';
import { projectionLag } from './http/gateway-metrics.ts';
import { openHttpServer } from './http/http-server.ts';
import { orStop } from './or-stop.ts';
import { memoryRunViews } from './views/memory-run-views.ts';
import { openMongoRunViews } from './views/mongo-run-views.ts';
import { openRunProjection } from './views/run-projection.ts';

const start = async (
  config: GatewayConfig,
  open: AsyncDisposableStack,
  stopping: AbortSignal,
): Promise<void> => {
  const instance = `gateway-${randomBytes(6).toString('hex')}`;
  const logger = createLogger({ service: 'gateway', level: config.RUNLEDGER_LOG_LEVEL, instance });
  const metrics = createMetrics('gateway');
  const checks: Record<string, Check> = { start: () => ({ ok: false, why: 'still starting' }) };
  const { RUNLEDGER_HEALTH_HOST, RUNLEDGER_HEALTH_PORT } = config;
  const health = open.use(
    await openHealthServer({
      host: RUNLEDGER_HEALTH_HOST,
      port: RUNLEDGER_HEALTH_PORT,
      checks,
      metrics,
      logger,
      stopping,
    }),
  );

  const log = open.use(await orStop(openEventLog(brokerSettings(config, instance), logger), stopping));
  checks['broker'] = () => (log.connected() ? { ok: true } : { ok: false, why: 'the broker is away' });
  await awaitProvisioned(log, stopping);

  const views =
    config.RUNLEDGER_VIEWS === 'memory'
      ? memoryRunViews()
      : open.use(openMongoRunViews({ url: config.MONGODB_URL }));
  const projection = open.use(openRunProjection({ log, views, logger, instance }));
  checks['projection'] = () => projection.state();
  projectionLag(metrics, log, () => projection.position());

  const { RUNLEDGER_HOST: host, RUNLEDGER_PORT: port } = config;
  const finishWithinMs = config.RUNLEDGER_STOP_WITHIN_S * 500;
  let publicUrl = config.RUNLEDGER_PUBLIC_URL?.replace(/\/+$/, '') ?? '';
  const app = gateway({ config, log, views, logger, metrics, instance, publicUrl: () => publicUrl });
  const http = open.use(await openHttpServer(app, { host, port, finishWithinMs }));
  if (publicUrl === '') publicUrl = http.url;
  delete checks['start'];
  logger.info({ url: `${http.url}${config.RUNLEDGER_BASE_PATH}` }, 'the run API is served');
  announce({ http: http.url, health: health.url });
};

const read = readGatewayConfig(process.env);
await runService({
  name: 'gateway',
  stopWithinMs: read.stopWithinMs,
  start: (open, stopping) => start(read.orThrow(), open, stopping),
});
