import { secretBox } from '@runledger/webhooks/secret-box';
import { signingSecrets } from '@runledger/webhooks/signing-secrets';
import type Koa from 'koa';
import { catalogueRecords } from './catalogue/catalogue-records.ts';
import { drainExecutor } from './fleet/drain-executor.ts';
import { executors } from './fleet/executors.ts';
import { watchingGauges } from './gateway-gauges.ts';
import { clock, now, type GatewayParts } from './gateway-parts.ts';
import { apiKeyRoutes } from './http/api-keys-route.ts';
import { createApp, type Page } from './http/app.ts';
import { callers } from './http/callers.ts';
import { deploymentRoutes } from './http/deployments-routes.ts';
import { executorRoutes } from './http/executors-routes.ts';
import { gatewayMetrics } from './http/gateway-metrics.ts';
import { jsonBody } from './http/json-body.ts';
import { machineRoutes } from './http/machines-routes.ts';
import { recentKeys } from './http/recent-keys.ts';
import { webhookSecretRoutes } from './http/webhook-secret-route.ts';
import { workflowVersionRoutes } from './http/workflow-versions-routes.ts';
import { workflowRoutes } from './http/workflows-routes.ts';
import { authenticate } from './keys/api-keys.ts';
import { rateLimit } from './limits/rate-limit.ts';
import { referencePages } from './openapi/reference-pages.ts';
import { jetstreamOutputStore } from './outputs/jetstream-output-store.ts';
import { serveRoute } from './outputs/serve-route.ts';
import { uploadReservations } from './outputs/upload-reservations.ts';
import { uploadRoute } from './outputs/upload-route.ts';
import { runRoutes } from './run-routes.ts';
import { currentRun } from './runs/current-run.ts';
import { findView } from './runs/find-view.ts';
import { shownWebhooks } from './runs/shown-webhooks.ts';
import { keyWatch } from './watching/key-watch.ts';
import { openRunWatching } from './watching/run-watching.ts';

export interface Gateway extends AsyncDisposable {
  readonly app: Koa;
  /** The service stops: whoever holds a request open gets an answer, or is told to come again. */
  readonly stopping: () => void;
}

/** The HTTP side of the gateway, put together. */
export const gateway = ({ metrics: registry, ...parts }: GatewayParts): Gateway => {
  const { config, log, views, logger, publicUrl } = parts;
  const { RUNLEDGER_BASE_PATH: basePath, RUNLEDGER_STREAMS_MAX: mostWatchers } = config;
  const metrics = gatewayMetrics(registry);
  const shown = shownWebhooks();
  const current = currentRun({
    log,
    find: findView({ views, logger, clock }),
    shown,
    logger,
    onRead: metrics.runRead,
  });
  const watching = openRunWatching({ log, current, publicUrl, mostWatchers, logger, clock });
  watchingGauges(registry, watching, mostWatchers);
  const keys = keyWatch({ authenticate: (key) => authenticate(log, key, now), logger });
  const fleet = executors(log);
  const records = { records: catalogueRecords(log), now };
  const routes = [
    ...runRoutes({ parts, current, shown, watching, keys, metrics }),
    ...webhookSecretRoutes(signingSecrets(log, secretBox(config.RUNLEDGER_SECRET_KEYS), { now })),
    ...machineRoutes(records),
    ...workflowRoutes(records),
    ...workflowVersionRoutes(records),
    ...deploymentRoutes(records),
    ...apiKeyRoutes({ log, now }),
    ...executorRoutes({ executors: fleet, drain: drainExecutor({ log, executors: fleet, now, clock }) }),
  ];
  const operations = routes.map((route) => route.operation);
  const app = createApp({
    basePath,
    routes,
    pages: [...referencePages({ basePath, operations, publicUrl }), ...outputPages(parts, metrics.uploaded)],
    serving: {
      callers: callers(
        recentKeys({ log, now, clock }),
        rateLimit({ log, limit: config.RUNLEDGER_RATE_LIMIT, clock, counts: metrics.rate }),
      ),
      body: jsonBody(config.RUNLEDGER_BODY_MAX_BYTES),
    },
    edge: {
      corsOrigins: config.RUNLEDGER_CORS_ORIGINS,
      trustedProxies: config.RUNLEDGER_TRUSTED_PROXIES,
      publicUrl: config.RUNLEDGER_PUBLIC_URL,
      log,
    },
    metrics,
    logger,
    clock,
  });
  return {
    app,
    stopping: () => watching.stop(),
    [Symbol.asyncDispose]: async () => {
      keys[Symbol.dispose]();
      await watching[Symbol.asyncDispose]();
    },
  };
};

/** Output files: executors store them, and whoever has the address reads them. */
const outputPages = (
  { config, log, logger }: Pick<GatewayParts, 'config' | 'log' | 'logger'>,
  onUploaded: (bytes: number) => void,
): Page[] => {
  const store = jetstreamOutputStore(log);
  const reservations = uploadReservations(log, {
    runBytes: config.RUNLEDGER_OUTPUT_RUN_MAX_BYTES,
    files: config.RUNLEDGER_OUTPUT_MAX_FILES,
  });
  const maxFileBytes = config.RUNLEDGER_OUTPUT_FILE_MAX_BYTES;
  return [
    {
      method: 'PUT',
      path: '/executions/:org_id/:run_id/:attempt/outputs',
      serve: uploadRoute({ log, store, reservations, maxFileBytes, logger, clock, onUploaded }),
      needsLog: true,
    },
    {
      method: 'GET',
      path: '/outputs/:key/:filename',
      serve: serveRoute({ store, logger }),
      needsLog: true,
    },
  ];
};
