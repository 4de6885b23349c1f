import { lastProgress } from '@runledger/event-log/activity';
import { readDeliveries, readDeliveryStates } from '@runledger/event-log/deliveries';
import { catalogue as openCatalogue } from './catalogue/catalogue.ts';
import { clock, now, type GatewayParts } from './gateway-parts.ts';
import { cancelManyRoute } from './http/cancel-many-route.ts';
import { cancelRoute } from './http/cancel-route.ts';
import { deliveriesRoute } from './http/deliveries-route.ts';
import { eventsRoute } from './http/events-route.ts';
import type { GatewayMetrics } from './http/gateway-metrics.ts';
import { getRoute } from './http/get-route.ts';
import { listDeliveriesRoute } from './http/list-deliveries-route.ts';
import { listRunsRoute } from './http/list-runs-route.ts';
import type { Route } from './http/operation.ts';
import { queueRoute } from './http/queue-route.ts';
import { redeliverManyRoute } from './http/redeliver-many-route.ts';
import { redeliverRoute } from './http/redeliver-route.ts';
import { rerunRoute } from './http/rerun-route.ts';
import { waitingRoute } from './http/waiting-route.ts';
import { waitForEnd } from './http/wait-for-end.ts';
import { callbackRules } from './http/webhook-url.ts';
import { queueBound } from './limits/queue-bound.ts';
import { acceptRun, type AcceptRun } from './runs/accept-run.ts';
import { cancelMany } from './runs/cancel-many.ts';
import { cancelRun } from './runs/cancel-run.ts';
import type { ReadCurrentRun } from './runs/current-run.ts';
import { freshViews } from './runs/fresh-views.ts';
import { listRuns } from './runs/list-runs.ts';
import { logRoom } from './runs/log-room.ts';
import { queueDeployment } from './runs/queue-deployment.ts';
import { queuePlaces } from './runs/queue-places.ts';
import { redeliverMany } from './runs/redeliver-many.ts';
import { redeliverRun } from './runs/redeliver-run.ts';
import { rerunRun } from './runs/rerun-run.ts';
import { runProgress } from './runs/run-progress.ts';
import type { ShownWebhooks } from './runs/shown-webhooks.ts';
import { versionHashes } from './runs/version-hashes.ts';
import { waitingRun } from './runs/waiting-run.ts';
import type { KeyWatch } from './watching/key-watch.ts';
import type { RunWatching } from './watching/run-watching.ts';

export interface RunRoutes {
  readonly parts: Omit<GatewayParts, 'metrics'>;
  readonly current: ReadCurrentRun;
  readonly shown: ShownWebhooks;
  readonly watching: RunWatching;
  readonly keys: KeyWatch;
  readonly metrics: GatewayMetrics;
}

const RESOLVE_WITHIN_MS = 1_000;

/** Everything that is done with runs, and with the notifications of them. */
export const runRoutes = ({ parts, current, shown, watching, keys, metrics }: RunRoutes): Route[] => {
  const { config, log, views, logger, instance, publicUrl, policy, resolver } = parts;
  const writer = { service: 'gateway', instance };
  const onConflict = metrics.conflict;
  const onQueued = metrics.queued;
  const catalogue = openCatalogue(log);
  const fresh = freshViews({ log, views });
  const bound = queueBound({ views, fresh, most: config.RUNLEDGER_QUEUE_MAX, clock });
  const accept = counted(acceptRun({ log, current, room: logRoom(log, clock), bound, writer, now }), metrics);
  const queue = queueDeployment({ accept, catalogue, versions: versionHashes(catalogue), logger });
  const rerun = rerunRun({ accept, current, catalogue });
  const cancel = cancelRun({ log, current, writer, now, onConflict });
  const redeliver = redeliverRun({ log, current, shown, writer, now, onConflict });
  const progress = runProgress((key, attempt, executor) => lastProgress(log, key, attempt, executor));
  const places = queuePlaces({ log, clock });
  const wait = waitForEnd({ awaitEnd: watching.awaitEnd, keys });
  const limits = {
    inputs: config.RUNLEDGER_INPUTS_MAX,
    inputsBytes: config.RUNLEDGER_INPUTS_MAX_BYTES,
    inputNameLength: config.RUNLEDGER_INPUT_NAME_MAX,
  };
  const callbacks = callbackRules({
    policy,
    resolver,
    maxLength: config.RUNLEDGER_WEBHOOK_URL_MAX,
    resolveWithinMs: RESOLVE_WITHIN_MS,
  });
  return [
    queueRoute({ limits, callbacks, queue, onQueued }),
    waitingRoute({ waiting: waitingRun({ log, current, clock }), now }),
    getRoute({ current, progress, places, wait, catalogue, publicUrl }),
    eventsRoute({ current, watching, keys }),
    cancelRoute({ cancel }),
    rerunRoute({ limits, rerun, onQueued }),
    listRunsRoute({ listRuns: listRuns({ views, fresh, progress, places, catalogue, publicUrl }) }),
    cancelManyRoute({ cancelMany: cancelMany({ views, fresh, cancel }) }),
    deliveriesRoute({ current, tries: (key) => readDeliveries(log, key) }),
    redeliverRoute({ redeliver }),
    listDeliveriesRoute({ views, states: (deliveries) => readDeliveryStates(log, deliveries) }),
    redeliverManyRoute({ redeliverMany: redeliverMany({ views, redeliver }) }),
  ];
};

const counted =
  (accept: AcceptRun, { notQueued }: GatewayMetrics): AcceptRun =>
  async (...asked) => {
    const acceptance = await accept(...asked);
    switch (acceptance.kind) {
      case 'accepted':
      case 'accepted_before':
      case 'refused':
        break;
      case 'key_taken':
      case 'log_nearly_full':
      case 'queue_full':
      case 'views_away':
      case 'unreadable':
        notQueued(acceptance.kind);
    }
    return acceptance;
  };
