import { streamsOf } from '@runledger/broker-access/service-permissions';
import { retryWhileUnavailable } from '@runledger/event-log/connect/broker-call';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { checkLifetimes } from '@runledger/event-log/provision/log-settings';
import { withFreshReads } from '@runledger/event-log/read/fresh-reads';
import { leaderGathering } from '@runledger/event-log/provision/stream-copies';
import { leftOutState } from '@runledger/event-log/table/table';
import { logEndNotes, type LostFacts } from '@runledger/event-log/provision/lost-facts';
import { openServiceLog } from '@runledger/event-log/provision/service-log';
import { respondAsInstance } from '@runledger/request-reply/instances';
import type { ServiceBase } from '@runledger/service-kit/configured-service';
import { nameResolver } from '@runledger/webhooks/name-resolver';
import { policyFromConfig } from '@runledger/webhooks/policy-config';
import packageJson from '../package.json' with { type: 'json' };
import { redirectUri } from './records/people/provider-routes.ts';
import { lifetimesOf, type GatewayConfig } from './config.ts';
import { consoleFiles } from './document/console.ts';
import { contract } from './contract.ts';
import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { gatewayMetrics } from './gateway-metrics.ts';
import { openKeeper } from './keeping/keeper.ts';
import { clock, now } from './kit.ts';
import { openGateway } from './gateway.ts';
import { logGauges, projectionGauges } from './gateway-gauges.ts';
import { archiveHasMore } from './archive/archive-walk.ts';
import { openHttpServer } from './door/http-server.ts';
import { commonHeaders } from './door/responses.ts';
import { ownServices } from './own-services.ts';
import { openPasswords } from './records/people/passwords.ts';
import { VIEW_VERSION } from './views/stored-run.decide.ts';
import { openViewStore } from './views/open-view-store.ts';
import { nameLostRuns } from './views/name-lost-runs.ts';
import { dropFormerViews, openFirstViews } from './views/rebuild/first-views.ts';
import { openRebuilds } from './views/rebuild/rebuilds.ts';
import { openRunProjection } from './views/run-projection.ts';
import type { RunViews } from './views/run-views.ts';

/**
 * Opens everything that a gateway needs, in order. Stopping closes it in reverse. `main.ts` runs it as a process; tests of the
 * apps run it in their own process.
 */
export const startGateway = async (
  begun: ServiceBase<GatewayConfig>,
  open: AsyncDisposableStack,
  stopping: AbortSignal,
): Promise<{ http: string }> => {
  const { config, instance, logger, metrics, checks } = begun;
  const files = await consoleFiles(config.RUNLEDGER_CONSOLE);
  const views = open.use(await openViewStore(config, { version: VIEW_VERSION, clock }));
  const log = await openLog(begun, open, { views, stopping });
  logGauges(metrics, log);

  const { RUNLEDGER_HOST: host, RUNLEDGER_PORT: port } = config;
  const finishWithinMs = config.RUNLEDGER_STOP_WITHIN_S * 500;
  // Its own addresses are added once it listens. Wrong settings fail here, at once.
  let policy = policyFromConfig(config, ownServices(config, []));
  const resolver = open.use(nameResolver({ servers: config.RUNLEDGER_DNS_SERVERS, clock }));
  let publicUrl = config.RUNLEDGER_PUBLIC_URL?.replace(/\/+$/, '') ?? '';
  const kit = {
    config,
    log,
    views,
    stores: openBlobStores(log),
    passwords: openPasswords(),
    logger,
    metrics: gatewayMetrics(metrics),
    writer: { service: 'gateway', instance } as const,
    publicUrl: () => publicUrl,
    now,
    clock,
  };
  const projecting = { log, views, logger, instance, archiveHasMore: archiveHasMore(kit) };
  const projection = open.use(openRunProjection(projecting));
  checks['projection'] = () => projection.state();
  const isProjecting = (): boolean => projection.position() !== undefined;
  projectionGauges(metrics, log, projection);
  const gateway = open.use(
    openGateway(kit, {
      instance,
      consoleFiles: files,
      isProjecting,
      seenPosition: () => projection.seenPosition(),
      between: (work) => projection.between(work),
      policy: () => policy,
      resolver,
    }),
  );
  const { app, archived, retentionCutoff, stopping: onStopping } = gateway;
  checks['archive'] = gateway.archiveState;
  checks['records'] = leftOutState(log);
  // Views are made anew for a new version of them, and when an operator requests it. Those of former versions do not stay for ever.
  const order = { config, instance, level: config.RUNLEDGER_LOG_LEVEL, version: VIEW_VERSION };
  const making = { log, views, logger, archived, order };
  open.use(openFirstViews(making, checks));
  const rebuilds = open.use(openRebuilds({ ...making, retentionCutoff, projection, clock }));
  const { every } = open.use(openKeeper(isProjecting, logger));
  every(10_000, 'views that were being built could not be looked for', rebuilds.resume);
  every(3_600_000, 'views of former versions could not be dropped', () =>
    dropFormerViews(log, views, logger),
  );
  // One small request for each stream.
  every(10_000, 'stream leaders could not be gathered', leaderGathering(log, streamsOf(contract)));
  // A fact that was lost is known to be, if it was stored a second before.
  every(1_000, 'where the log ends could not be noted', logEndNotes(log));
  open.use(presence(begun, log, () => projection.position()));
  const headers = commonHeaders(config.RUNLEDGER_PUBLIC_URL);
  const http = open.use(await openHttpServer(app, { host, port, finishWithinMs, headers, onStopping }));
  if (publicUrl === '') publicUrl = http.url;
  policy = policyFromConfig(config, ownServices(config, [http.url, begun.health]));
  if (config.RUNLEDGER_OIDC_ISSUER !== undefined)
    logger.info(
      { redirect_uri: redirectUri(publicUrl, config) },
      'people sign in with OpenID Connect: register this redirect URI at the provider, exactly as it is',
    );
  logger.info({ url: `${http.url}${config.RUNLEDGER_BASE_PATH}` }, 'the run API is served');
  return { http: http.url };
};

/** The log is whole, and its lifetimes fit together, or this waits. */
const openLog = async (
  begun: ServiceBase<GatewayConfig>,
  open: AsyncDisposableStack,
  { views, stopping }: { readonly views: RunViews; readonly stopping: AbortSignal },
): Promise<EventLog> => {
  const say = (sentence: string, about: object): void => begun.logger.error(about, sentence);
  const onLost = (lost: LostFacts): Promise<void> => nameLostRuns(views, lost, say, MAX_NAMED_RUNS);
  const opened = await openServiceLog({ ...begun, streams: streamsOf(contract), onLost }, open, stopping);
  const log = withFreshReads(opened, clock);
  await retryWhileUnavailable({ signal: stopping, logger: log.logger }, () =>
    checkLifetimes(log, lifetimesOf(begun.config), streamsOf(contract)),
  );
  return log;
};

/** Says on request that this process is there. */
const presence = (
  begun: ServiceBase<GatewayConfig>,
  log: EventLog,
  position: () => number | undefined,
): Disposable =>
  respondAsInstance(log, {
    ...begun,
    service: 'gateway',
    software_version: packageJson.version,
    doing: () => ({ leads: position() !== undefined, position: position() ?? null }),
  });

/** Each is a line of the log. */
const MAX_NAMED_RUNS = 1_000;
