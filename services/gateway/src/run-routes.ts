import type { RecordAction } from '@runledger/event-log/audit/record-action';
import { subscribeToLogs } from '@runledger/event-log/streams/logs';
import { lastProgress } from '@runledger/event-log/streams/activity';
import { catalogue as openCatalogue } from './records/catalogue/catalogue.ts';
import { clock, now, type GatewayParts } from './gateway-parts.ts';
import { findMatching, type FindMatchingOptions } from './runs/matching-runs.ts';
import {
  cancelManyRoute,
  cancelRoute,
  cancelMany,
  type CancelManyRoute,
  type CancelManyOptions,
} from './runs/cancel.ts';
import { deleteRoutes, tombstoneRoute } from './runs/delete.ts';
import { deleteRun } from './runs/facts/delete-run.ts';
import { historyRoutes } from './runs/history.ts';
import { receiptRoutes } from './runs/receipt.ts';
import { pastRun, pastRuns } from './runs/past-run.ts';
import { attemptLogs, type ReadAttemptLog } from './runs/attempt-logs.ts';
import { logsRoute } from './runs/logs.ts';
import { eventsRoute } from './runs/events.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { getRoute, openIncluded } from './runs/get.ts';
import { presentRuns, listRunsRoute, listRuns } from './runs/list.ts';
import { activityRoute } from './runs/activity.ts';
import { countRunsRoute } from './runs/count.ts';
import { selectRuns as runSelection } from './runs/filter.ts';
import type { Route } from './door/operation.ts';
import { queueRoute } from './runs/queue.ts';
import { rerunMany, rerunManyRoute, type RerunManyOptions } from './runs/rerun-many.ts';
import { rerunRoute, rerunRun } from './runs/rerun.ts';
import { waitingRoute, waitingRun } from './runs/waiting.ts';
import { waitForEnd } from './runs/await-end.ts';
import { cancelRun } from './runs/facts/cancel-run.ts';
import { queuePositions, runProgress } from './runs/queue-positions.ts';
import { keepSecrets } from './runs/facts/input-secrets.ts';
import { tokenRoute } from './runs/token.ts';
import type { RunQueueing } from './run-queueing.ts';
import type { RunServices } from './run-services.ts';

export interface RunRoutes {
  readonly parts: Omit<GatewayParts, 'metrics'>;
  readonly services: RunServices;
  readonly metrics: GatewayMetrics;
  readonly queueing: RunQueueing;
  readonly record: RecordAction;
}

/** The operations on runs. */
export const runRoutes = ({ parts, services, metrics, queueing, record }: RunRoutes): Route[] => {
  const { stores, secrets, current, lists, room, fresh, scheduler, subscriptions, keys, tokens } = services;
  const { read, proveFacts } = services.archive;
  const { accept, callbacks, deployments, keepFiles, limits } = queueing;
  const { config, log, views, logger, instance } = parts;
  const outputUrl = services.outputUrls.of;
  const writer = { service: 'gateway', instance };
  const onConflict = metrics.conflict;
  const onQueued = metrics.queued;
  const catalogue = openCatalogue(log);
  const rerun = rerunRun({
    accept,
    current: services.confirmed,
    catalogue,
    workflows: stores.workflows,
    keepFiles,
    secrets,
    keepSecrets: keepSecrets({ blobs: stores.blobs, secrets }),
  });
  const cancel = cancelRun({ log, current, expire: services.expire, writer, now, onConflict });
  const selectRuns = runSelection(services.records);
  const attemptLog = attemptLogs({ log, blobs: stores.blobs, current });
  const progress = runProgress((key, attempt, executor) => lastProgress(log, key, attempt, executor));
  const positions = queuePositions({ scheduler, clock });
  const included = openIncluded(stores, logger);
  const present = presentRuns({ log, current });
  const past = pastRun({ read, current });
  const wait = waitForEnd({ awaitEnd: subscriptions.awaitEnd, keys });
  return [
    queueRoute({ limits, callbacks, queue: deployments.queue, onQueued }),
    waitingRoute({ waiting: waitingRun({ scheduler, current, clock }), now }),
    getRoute({ current, past, lists, progress, positions, wait, included, outputUrl, ended: services.ended }),
    eventsRoute({ current, subscriptions, keys }),
    runLogsRoute(parts, services, attemptLog),
    ...historyRoutes({ log, read, current, lists, attemptLog, outputUrl, now }),
    ...receiptRoutes({ read, proveFacts, current, signer: services.receipts, now }),
    tokenRoute({ current, tokens, maxS: config.RUNLEDGER_RUN_TOKEN_MAX_S, now }),
    cancelRoute({ cancel, record }),
    ...deleteRoutes({ deleteRun: deleteRun({ log, current, lists, room, writer, now, onConflict }) }),
    tombstoneRoute({ log, views, fresh }),
    rerunRoute({ limits, rerun, onQueued }),
    listRunsRoute({
      selectRuns,
      listRuns: listRuns({
        views,
        fresh,
        present,
        past: pastRuns(past),
        lists,
        progress,
        positions,
        included,
        outputUrl,
      }),
    }),
    countRunsRoute({ views, fresh, selectRuns }),
    activityRoute({ views, fresh, now }),
    ...routesOfMany({ views, fresh, selectRuns, record, cancel, rerun, onQueued }),
  ];
};

type ManyRuns = FindMatchingOptions &
  Omit<CancelManyOptions & RerunManyOptions, 'find'> &
  Pick<CancelManyRoute, 'selectRuns' | 'record'>;

const routesOfMany = ({ views, fresh, selectRuns, record, cancel, ...rerunning }: ManyRuns): Route[] => {
  const find = findMatching({ views, fresh });
  return [
    cancelManyRoute({ cancelMany: cancelMany({ find, cancel }), selectRuns, record }),
    rerunManyRoute({ rerunMany: rerunMany({ find, ...rerunning }), selectRuns, record }),
  ];
};

const runLogsRoute = (
  { log, logger }: Pick<GatewayParts, 'log' | 'logger'>,
  { current, subscriptions, keys }: Pick<RunServices, 'current' | 'subscriptions' | 'keys'>,
  read: ReadAttemptLog,
): Route =>
  logsRoute({
    current,
    read,
    subscribe: subscriptions.subscribe,
    subscribeToLogs: (key, onChunk) => subscribeToLogs(log, key, onChunk),
    onReconnect: (listener) => log.onReconnect(listener),
    subscriptions,
    keys,
    logger,
  });
