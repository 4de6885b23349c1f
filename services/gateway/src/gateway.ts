import { performance } from 'node:perf_hooks';
import { lastProgress } from '@runledger/event-log/activity';
import { readDeliveries, readDeliveryStates } from '@runledger/event-log/deliveries';
import type { EventLog } from '@runledger/event-log/event-log';
import type { Logger } from '@runledger/event-log/logger';
import type { Metrics } from '@runledger/service-kit/metrics';
import type { CallbackPolicy } from '@runledger/webhooks/callback-policy';
import type { NameResolver } from '@runledger/webhooks/name-resolver';
import { secretBox } from '@runledger/webhooks/secret-box';
import { signingSecrets } from '@runledger/webhooks/signing-secrets';
import type Koa from 'koa';
import { catalogueRecords } from './catalogue/catalogue-records.ts';
import { catalogue as openCatalogue } from './catalogue/catalogue.ts';
import type { GatewayConfig } from './config.ts';
import { apiKeyRoutes } from './http/api-keys-route.ts';
import { createApp } from './http/app.ts';
import { callers } from './http/callers.ts';
import { cancelManyRoute } from './http/cancel-many-route.ts';
import { cancelRoute } from './http/cancel-route.ts';
import { deliveriesRoute } from './http/deliveries-route.ts';
import { deploymentRoutes } from './http/deployments-routes.ts';
import { eventsRoute } from './http/events-route.ts';
import { gatewayMetrics } from './http/gateway-metrics.ts';
import { getRoute } from './http/get-route.ts';
import { jsonBody } from './http/json-body.ts';
import { listDeliveriesRoute } from './http/list-deliveries-route.ts';
import { listRunsRoute } from './http/list-runs-route.ts';
import { machineRoutes } from './http/machines-routes.ts';
import { queueRoute } from './http/queue-route.ts';
import { recentKeys } from './http/recent-keys.ts';
import { redeliverManyRoute } from './http/redeliver-many-route.ts';
import { redeliverRoute } from './http/redeliver-route.ts';
import { rerunRoute } from './http/rerun-route.ts';
import { waitForEnd } from './http/wait-for-end.ts';
import { webhookSecretRoutes } from './http/webhook-secret-route.ts';
import { callbackRules } from './http/webhook-url.ts';
import { workflowVersionRoutes } from './http/workflow-versions-routes.ts';
import { workflowRoutes } from './http/workflows-routes.ts';
import { authenticate } from './keys/api-keys.ts';
import { queueBound } from './limits/queue-bound.ts';
import { rateLimit } from './limits/rate-limit.ts';
import { referencePages } from './openapi/reference-pages.ts';
import { jetstreamOutputStore } from './outputs/jetstream-output-store.ts';
import { serveRoute } from './outputs/serve-route.ts';
import { uploadReservations } from './outputs/upload-reservations.ts';
import { uploadRoute } from './outputs/upload-route.ts';
import { acceptRun } from './runs/accept-run.ts';
import { cancelMany } from './runs/cancel-many.ts';
import { cancelRun } from './runs/cancel-run.ts';
import { currentRun } from './runs/current-run.ts';
import { findView } from './runs/find-view.ts';
import { freshViews } from './runs/fresh-views.ts';
import { listRuns } from './runs/list-runs.ts';
import { logRoom } from './runs/log-room.ts';
import { queueDeployment } from './runs/queue-deployment.ts';
import { queuePlaces } from './runs/queue-places.ts';
import { redeliverMany } from './runs/redeliver-many.ts';
import { redeliverRun } from './runs/redeliver-run.ts';
import { rerunRun } from './runs/rerun-run.ts';
import { runProgress } from './runs/run-progress.ts';
import { shownWebhooks } from './runs/shown-webhooks.ts';
import { versionHashes } from './runs/version-hashes.ts';
import type { RunViews } from './views/run-views.ts';
import { keyWatch } from './watching/key-watch.ts';
import { openRunWatching } from './watching/run-watching.ts';

export interface GatewayParts {
  readonly config: GatewayConfig;
  readonly log: EventLog;
  readonly views: RunViews;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Tells two gateways apart. */
  readonly instance: string;
  /** The address as clients know it, without a slash at the end; known once the gateway listens. */
  readonly publicUrl: () => string;
  /** Which addresses callbacks may reach; complete once the gateway listens, since its own is none of them. */
  readonly policy: () => CallbackPolicy;
  readonly resolver: NameResolver;
}

const RESOLVE_WITHIN_MS = 1_000;
const clock = (): number => performance.now();
const now = (): Date => new Date();

export interface Gateway extends AsyncDisposable {
  readonly app: Koa;
  /** The service stops: whoever holds a request open gets an answer, or is told to come again. */
  readonly stopping: () => void;
}

/** The HTTP side of the gateway, put together. */
export const gateway = (parts: GatewayParts): Gateway => {
  const { config, log, views, logger, instance, publicUrl, policy, resolver } = parts;
  const metrics = gatewayMetrics(parts.metrics);
  const writer = { service: 'gateway', instance };
  const catalogue = openCatalogue(log);
  const recordRoutes = { records: catalogueRecords(log), now };
  const shown = shownWebhooks();
  const current = currentRun({ log, find: findView({ views, logger, clock }), shown, logger });
  const store = jetstreamOutputStore(log);
  const fresh = freshViews({ log, views });
  const bound = queueBound({ views, fresh, most: config.RUNLEDGER_QUEUE_MAX, clock });
  const accept = acceptRun({ log, current, room: logRoom(log, clock), bound, writer, now });
  const queue = queueDeployment({ accept, catalogue, versions: versionHashes(catalogue), logger });
  const cancel = cancelRun({ log, current, writer, now, onConflict: metrics.conflict });
  const redeliver = redeliverRun({ log, current, shown, writer, now, onConflict: metrics.conflict });
  const secrets = signingSecrets(log, secretBox(config.RUNLEDGER_SECRET_KEYS), { now });
  const limits = {
    inputs: config.RUNLEDGER_INPUTS_MAX,
    inputsBytes: config.RUNLEDGER_INPUTS_MAX_BYTES,
    inputNameLength: config.RUNLEDGER_INPUT_NAME_MAX,
  };
  const { RUNLEDGER_BASE_PATH: basePath } = config;
  const maxFileBytes = config.RUNLEDGER_OUTPUT_FILE_MAX_BYTES;
  const reservations = uploadReservations(log, {
    runBytes: config.RUNLEDGER_OUTPUT_RUN_MAX_BYTES,
    files: config.RUNLEDGER_OUTPUT_MAX_FILES,
  });
  const progress = runProgress((key, attempt, executor) => lastProgress(log, key, attempt, executor));
  const places = queuePlaces({ log, clock });
  const { RUNLEDGER_STREAMS_MAX: mostWatchers } = config;
  const watching = openRunWatching({ log, current, publicUrl, mostWatchers, logger, clock });
  const keys = keyWatch({ authenticate: (key) => authenticate(log, key, now), logger });
  const routes = [
    queueRoute({
      limits,
      callbacks: callbackRules({
        policy,
        resolver,
        maxLength: config.RUNLEDGER_WEBHOOK_URL_MAX,
        resolveWithinMs: RESOLVE_WITHIN_MS,
      }),
      queue,
      onQueued: metrics.queued,
    }),
    rerunRoute({ limits, rerun: rerunRun({ accept, current, catalogue }), onQueued: metrics.queued }),
    getRoute({
      current,
      progress,
      places,
      wait: waitForEnd({ awaitEnd: watching.awaitEnd, keys }),
      catalogue,
      publicUrl,
    }),
    eventsRoute({ current, watching, keys }),
    cancelRoute({ cancel }),
    listRunsRoute({ listRuns: listRuns({ views, fresh, progress, places, catalogue, publicUrl }) }),
    cancelManyRoute({ cancelMany: cancelMany({ views, fresh, cancel }) }),
    deliveriesRoute({ current, tries: (key) => readDeliveries(log, key) }),
    redeliverRoute({ redeliver }),
    listDeliveriesRoute({ views, states: (keys) => readDeliveryStates(log, keys) }),
    redeliverManyRoute({ redeliverMany: redeliverMany({ views, redeliver }) }),
    ...webhookSecretRoutes(secrets),
    ...apiKeyRoutes({ log, now }),
    ...machineRoutes(recordRoutes),
    ...workflowRoutes(recordRoutes),
    ...workflowVersionRoutes(recordRoutes),
    ...deploymentRoutes(recordRoutes),
  ];
  const app = createApp({
    basePath,
    routes,
    pages: [
      ...referencePages({ basePath, operations: routes.map((route) => route.operation), publicUrl }),
      {
        method: 'PUT',
        path: '/executions/:org_id/:run_id/:attempt/outputs',
        serve: uploadRoute({ log, store, reservations, maxFileBytes, logger, clock }),
        needsLog: true,
      },
      {
        method: 'GET',
        path: '/outputs/:key/:filename',
        serve: serveRoute({ store, logger }),
        needsLog: true,
      },
    ],
    edge: {
      corsOrigins: config.RUNLEDGER_CORS_ORIGINS,
      trustedProxies: config.RUNLEDGER_TRUSTED_PROXIES,
      publicUrl: config.RUNLEDGER_PUBLIC_URL,
      log,
    },
    serving: {
      callers: callers(
        recentKeys({ log, now, clock }),
        rateLimit({ log, limit: config.RUNLEDGER_RATE_LIMIT, clock }),
      ),
      body: jsonBody(config.RUNLEDGER_BODY_MAX_BYTES),
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
