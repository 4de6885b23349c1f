import type { RecordAction } from '@runledger/event-log/audit/record-action';
import { subscribeToLogs } from '@runledger/event-log/streams/logs';
import { lastProgress } from '@runledger/event-log/streams/activity';
import { catalogue as openCatalogue } from './catalogue/catalogue.ts';
import { clock, now, type GatewayParts } from './gateway-parts.ts';
import { findMatching } from './runs/bulk/matching-runs.ts';
import { cancelManyRoute } from './runs/cancel/cancel-many-route.ts';
import { cancelRoute } from './runs/cancel/cancel-route.ts';
import { deleteRoutes } from './runs/delete/delete-routes.ts';
import { tombstoneRoute } from './runs/delete/tombstone-route.ts';
import { deleteRun } from './runs/delete/delete-run.ts';
import { attemptLogs } from './runs/logs/attempt-logs.ts';
import { logsRoute } from './runs/logs/logs-route.ts';
import type { OwnAddresses } from './files/core/own-address.ts';
import { eventsRoute } from './runs/subscribe/events-route.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { getRoute } from './runs/read/get-route.ts';
import { presentRuns } from './runs/list/present-runs.ts';
import { listRunsRoute } from './runs/list/list-runs-route.ts';
import type { Route } from './http/operation.ts';
import { queueRoute } from './runs/queue/queue-route.ts';
import { rerunMany } from './runs/rerun/rerun-many.ts';
import { rerunManyRoute } from './runs/rerun/rerun-many-route.ts';
import { rerunRoute } from './runs/rerun/rerun-route.ts';
import { waitingRoute } from './runs/read/waiting-route.ts';
import { waitForEnd } from './runs/subscribe/wait-for-end.ts';
import { callbackRules, type CallbackRules } from './runs/queue/callback-rules.ts';
import { acceptRun, type AcceptRun } from './runs/queue/accept-run.ts';
import { cancelMany } from './runs/cancel/cancel-many.ts';
import { cancelRun } from './runs/cancel/cancel-run.ts';
import { listRuns } from './runs/list/list-runs.ts';
import { keepFiles } from './runs/queue/keep-files.ts';
import { keepRunFiles, type KeepRunFiles } from './runs/queue/keep-run-files.ts';
import { queueDeployment } from './runs/queue/queue-deployment.ts';
import { queuePositions } from './runs/read/queue-positions.ts';
import { rerunRun } from './runs/rerun/rerun-run.ts';
import { keepSecrets } from './runs/secrets/kept-secrets.ts';
import { openIncluded } from './runs/read/read-included.ts';
import { runProgress } from './runs/read/run-progress.ts';
import { tokenRoute } from './runs/tokens/token-route.ts';
import { waitingRun } from './runs/read/waiting-run.ts';
import type { RunServices } from './run-services.ts';

export interface RunRoutes {
  readonly parts: Omit<GatewayParts, 'metrics'>;
  readonly services: RunServices;
  readonly metrics: GatewayMetrics;
  readonly record: RecordAction;
}

const RESOLVE_WITHIN_MS = 1_000;

/** The operations on runs. */
export const runRoutes = ({ parts, services, metrics, record }: RunRoutes): Route[] => {
  const { stores, secrets, current, lists, room, fresh, scheduler, subscriptions, keys, tokens } = services;
  const { config, log, views, logger, instance, policy, resolver } = parts;
  const outputUrl = services.outputUrls.of;
  const writer = { service: 'gateway', instance };
  const onConflict = metrics.conflict;
  const onQueued = metrics.queued;
  const catalogue = openCatalogue(log);
  const accept = acceptance(parts, services, metrics);
  const callbacks = callbackRules({
    policy,
    resolver,
    maxLength: config.RUNLEDGER_WEBHOOK_URL_MAX,
    resolveWithinMs: RESOLVE_WITHIN_MS,
  });
  const keep = fileKeeping(parts, services, callbacks);
  const queue = queueDeployment({ accept, catalogue, keepFiles: keep, secrets, now, logger });
  const rerun = rerunRun({
    accept,
    current,
    catalogue,
    workflows: stores.workflows,
    keepFiles: keep,
    secrets,
    keepSecrets: keepSecrets({ blobs: stores.blobs, secrets }),
  });
  const cancel = cancelRun({ log, current, expire: services.expire, writer, now, onConflict });
  const find = findMatching({ views, fresh });
  const progress = runProgress((key, attempt, executor) => lastProgress(log, key, attempt, executor));
  const positions = queuePositions({ scheduler, clock });
  const included = openIncluded(stores, logger);
  const present = presentRuns({ log, current });
  const wait = waitForEnd({ awaitEnd: subscriptions.awaitEnd, keys });
  const limits = {
    inputs: config.RUNLEDGER_INPUTS_MAX,
    inputsBytes: config.RUNLEDGER_INPUTS_MAX_BYTES,
    inputNameLength: config.RUNLEDGER_INPUT_NAME_MAX,
  };
  return [
    queueRoute({ limits, callbacks, queue, onQueued }),
    waitingRoute({ waiting: waitingRun({ scheduler, current, clock }), now }),
    getRoute({ current, lists, progress, positions, wait, included, outputUrl }),
    eventsRoute({ current, subscriptions, keys }),
    runLogsRoute(parts, services),
    tokenRoute({ current, tokens, maxS: config.RUNLEDGER_RUN_TOKEN_MAX_S, now }),
    cancelRoute({ cancel, record }),
    ...deleteRoutes({ deleteRun: deleteRun({ log, current, lists, room, writer, now, onConflict }) }),
    tombstoneRoute({ log, views, fresh }),
    rerunRoute({ limits, rerun, onQueued }),
    listRunsRoute({
      listRuns: listRuns({ views, fresh, present, lists, progress, positions, included, outputUrl }),
    }),
    cancelManyRoute({ cancelMany: cancelMany({ find, cancel }), record }),
    rerunManyRoute({ rerunMany: rerunMany({ find, rerun, onQueued }), record }),
  ];
};

const acceptance = (
  { config, log, instance }: RunRoutes['parts'],
  { stores, secrets, current, longestRun, room, quotas }: RunServices,
  metrics: GatewayMetrics,
): AcceptRun =>
  counted(
    acceptRun({
      log,
      blobs: stores.blobs,
      current,
      longestRun,
      room,
      queued: quotas.queued_runs,
      blobQuota: quotas.blob_bytes,
      maxInputsBytes: config.RUNLEDGER_INPUTS_MAX_BYTES,
      secrets,
      writer: { service: 'gateway', instance },
      now,
    }),
    metrics,
  );

const runLogsRoute = (
  { log, logger }: Pick<GatewayParts, 'log' | 'logger'>,
  {
    current,
    subscriptions,
    keys,
    stores,
  }: Pick<RunServices, 'current' | 'subscriptions' | 'keys' | 'stores'>,
): Route =>
  logsRoute({
    current,
    read: attemptLogs({ log, blobs: stores.blobs, current }),
    subscribe: subscriptions.subscribe,
    subscribeToLogs: (key, onChunk) => subscribeToLogs(log, key, onChunk),
    onReconnect: (listener) => log.onReconnect(listener),
    subscriptions,
    keys,
    logger,
  });

const fileKeeping = (
  { config, publicUrl }: RunRoutes['parts'],
  { files, outputs, outputUrls, stores }: RunServices,
  addresses: CallbackRules,
): KeepRunFiles => {
  const own = (): OwnAddresses => ({
    origin: publicUrl(),
    api: `${publicUrl()}${config.RUNLEDGER_BASE_PATH}`,
  });
  return keepRunFiles({
    blobs: stores.blobs,
    keepFiles: keepFiles({ files, addresses, outputs: outputs.store, outputUrls, own }),
  });
};

const counted =
  (accept: AcceptRun, { notQueued }: GatewayMetrics): AcceptRun =>
  async (...request) => {
    const acceptance = await accept(...request);
    switch (acceptance.kind) {
      case 'accepted':
      case 'accepted_before':
      case 'refused':
        break;
      case 'key_taken':
      case 'key_of_deleted_run':
      case 'log_nearly_full':
      case 'queue_full':
      case 'outlives_log':
      case 'inputs_gone':
      case 'inputs_store_full':
      case 'inputs_too_large':
      case 'inputs_over_quota':
      case 'views_unavailable':
      case 'unreadable':
        notQueued(acceptance.kind);
    }
    return acceptance;
  };
