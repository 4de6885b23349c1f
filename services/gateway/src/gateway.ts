import { secretBox } from '@runledger/webhooks/signing/secret-box';
import { signingSecrets } from '@runledger/webhooks/signing/signing-secrets';
import type Koa from 'koa';
import { catalogueRecords } from './catalogue/store/catalogue-records.ts';
import { drainExecutor } from './executors/drain-executor.ts';
import { executors } from './executors/executors.ts';
import { subscriptionGauges } from './gateway-gauges.ts';
import { clock, now, type GatewayParts } from './gateway-parts.ts';
import { apiKeyRoutes } from './auth/api-keys-routes.ts';
import { createApp } from './server/app.ts';
import { knownFailures } from './known-failures.ts';
import { identifyCaller } from './auth/identify-caller.ts';
import { deploymentRoutes } from './catalogue/deployments-routes.ts';
import { executorRoutes } from './executors/executors-routes.ts';
import { gatewayMetrics, type GatewayMetrics } from './gateway-metrics.ts';
import type { Route } from './http/operation.ts';
import { jsonBody } from './server/json-body.ts';
import { machineRoutes } from './catalogue/machines-routes.ts';
import { cachedAuthentication } from './auth/cached-authentication.ts';
import { webhookSecretRoutes } from './webhooks/webhook-secret-route.ts';
import { workflowVersionRoutes } from './catalogue/workflow-versions-routes.ts';
import { workflowRoutes } from './catalogue/workflows-routes.ts';
import { RATE_LIMIT_TIMEOUT_MS, rateLimit } from './rate-limit/rate-limit.ts';
import { referencePages } from './openapi/reference-pages.ts';
import { outputRoutes } from './outputs/output-routes.ts';
import { openOutputStore } from './outputs/output-stores.ts';
import { runRoutes } from './run-routes.ts';
import { openRunServices, type RunServices } from './run-services.ts';

export interface Gateway extends AsyncDisposable {
  readonly app: Koa;
  /** The service stops: requests that are held open get a response, and streams end. */
  readonly stopping: () => void;
}

/** The HTTP side of the gateway, put together. */
export const openGateway = ({ metrics: registry, ...parts }: GatewayParts): Gateway => {
  const open = new AsyncDisposableStack();
  const { config, log, logger, publicUrl } = parts;
  const basePath = config.RUNLEDGER_BASE_PATH;
  const metrics = gatewayMetrics(registry);
  const services = openRunServices(parts, metrics, open);
  subscriptionGauges(registry, services.subscriptions, config.RUNLEDGER_STREAMS_MAX);
  const routes = allRoutes(parts, services, metrics);
  const outputs = openOutputStore(config, { log, logger, now });
  const operations = routes.map((route) => route.operation);
  const app = createApp({
    basePath,
    routes,
    plainRoutes: [
      ...referencePages({ basePath, operations, publicUrl }),
      ...outputRoutes({
        config,
        log,
        logger,
        clock,
        store: open.use(outputs.store),
        readNeedsLog: outputs.needsLog,
        onUploaded: metrics.uploaded,
      }),
    ],
    serving: {
      identifyCaller: identifyCaller(
        cachedAuthentication({ log, now, clock }),
        rateLimit({
          log,
          limit: config.RUNLEDGER_RATE_LIMIT,
          clock,
          timeoutMs: RATE_LIMIT_TIMEOUT_MS,
          counters: metrics.rate,
        }),
      ),
      body: jsonBody(config.RUNLEDGER_BODY_MAX_BYTES),
    },
    edge: {
      corsOrigins: config.RUNLEDGER_CORS_ORIGINS,
      trustedProxies: config.RUNLEDGER_TRUSTED_PROXIES,
      publicUrl: config.RUNLEDGER_PUBLIC_URL,
      log,
    },
    failures: knownFailures,
    onResponse: metrics.answered,
    logger,
    clock,
  });
  return {
    app,
    stopping: () => services.subscriptions.stop(),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
};

const allRoutes = (
  parts: Omit<GatewayParts, 'metrics'>,
  services: RunServices,
  metrics: GatewayMetrics,
): Route[] => {
  const { config, log } = parts;
  const records = { records: catalogueRecords(log), now };
  const fleet = executors(services.scheduler);
  return [
    ...runRoutes({ parts, services, metrics }),
    ...webhookSecretRoutes(signingSecrets(log, secretBox(config.RUNLEDGER_SECRET_KEYS), { now })),
    ...machineRoutes(records),
    ...workflowRoutes(records),
    ...workflowVersionRoutes(records),
    ...deploymentRoutes(records),
    ...apiKeyRoutes({ log, now }),
    ...executorRoutes({ executors: fleet, drain: drainExecutor({ log, executors: fleet, now, clock }) }),
  ];
};
