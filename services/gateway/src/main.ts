import { randomBytes } from 'node:crypto';
import { openServiceLog } from '@runledger/event-log/service-log';
import { runConfiguredService, type Begun } from '@runledger/service-kit/configured-service';
import { readGatewayConfig, type GatewayConfig } from './config.ts';
import { gateway } from './gateway.ts';
import { projectionLag } from './http/gateway-metrics.ts';
import { openHttpServer } from './http/http-server.ts';
import { memoryRunViews } from './views/memory-run-views.ts';
import { openMongoRunViews } from './views/mongo-run-views.ts';
import { openRunProjection } from './views/run-projection.ts';

const start = async (
  begun: Begun<GatewayConfig>,
  open: AsyncDisposableStack,
  stopping: AbortSignal,
): Promise<{ http: string }> => {
  const { config, instance, logger, metrics, checks } = begun;
  const log = await openServiceLog(begun, open, stopping);

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
  logger.info({ url: `${http.url}${config.RUNLEDGER_BASE_PATH}` }, 'the run API is served');
  return { http: http.url };
};

await runConfiguredService(
  {
    name: 'gateway',
    readConfig: readGatewayConfig,
    instance: () => `gateway-${randomBytes(6).toString('hex')}`,
    start,
  },
  process.env,
);
