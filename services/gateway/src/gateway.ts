import { sealedSigningSecrets } from '@runledger/webhooks/signing/sealed-records';
import { secretBox } from '@runledger/webhooks/signing/secret-box';
import type Koa from 'koa';
import { openIdProvider } from './records/people/open-id-provider.ts';
import { oidcSettings } from './records/people/oidc-config.ts';
import { pendingSignIns } from './records/people/pending-sign-ins.ts';
import { accountRoutes } from './records/people/account-routes.ts';
import type { AccountRoutes } from './records/people/accounts.ts';
import { providerCallback, redirectUri } from './records/people/provider-routes.ts';
import { archiveGauges, type Archive } from './archive/archive.ts';
import { archiveRecords } from './archive/archive-records.ts';
import { recordOperation } from './records/audit/record-operation.ts';
import { openAudit, type Audit } from './records/audit/audit.ts';
import { reserveGauge } from './records/audit/rights-reserve.ts';
import { auditRoutes } from './records/audit/audit-routes.ts';
import { erasureServices } from './erasure-services.ts';
import { drainExecutor, executors, executorRoutes } from './records/operators/executors.ts';
import { fillGauges, roomGauges, subscriptionGauges } from './gateway-gauges.ts';
import { clock, now, type GatewayParts } from './gateway-parts.ts';
import { apiKeyRoutes } from './records/keys/api-keys-routes.ts';
import { whoamiRoute } from './records/keys/whoami.ts';
import { noteAnswers, type PlainRoute, type Route } from './door/operation.ts';
import { clientAddresses, type ClientAddresses } from './door/edge.ts';
import type { QuickAnswer } from './door/http-server.ts';
import { createApp, type AppOptions } from './door/app.ts';
import type { Serving } from './door/serve-operation.ts';
import { knownFailures } from './known-failures.ts';
import { identifyCaller, type OnCredentialRefused } from './door/caller.ts';
import { sessionHalves } from './door/session-halves.ts';
import { executionRoutes } from './runs/attempts/execution-routes.ts';
import { deadLetterRoutes } from './records/operators/dead-letters.ts';
import { systemRoute } from './records/operators/system.ts';
import { queuesRoute } from './records/operators/queues.ts';
import { fileRoutes } from './files/file-routes.ts';
import { uploadRoutes } from './files/upload-routes.ts';
import { gatewayMetrics, type GatewayMetrics } from './gateway-metrics.ts';
import { jsonBody } from './door/json-body.ts';
import { cachedAuthentication, type Authentication } from './records/keys/cached-authentication.ts';
import { RATE_LIMIT_TIMEOUT_MS, rateLimit, type RateLimiter } from './door/rate-limit.ts';
import { commonHeaders } from './door/responses.ts';
import { quickReads } from './runs/quick-reads.ts';
import { withExampleIds } from './document/example-ids.ts';
import { CONSOLE_PATH, consoleRoutes } from './document/console.ts';
import { homeRoute } from './document/home.ts';
import { referenceRoutes } from './document/reference.ts';
import { outputRoutes } from './files/serve-output.ts';
import { catalogue } from './records/catalogue/catalogue.ts';
import { admitUpload } from './records/quotas/admit-upload.ts';
import { usageRoute } from './records/quotas/usage.ts';
import { webhookRoutes } from './runs/webhook-routes.ts';
import { sealingRoutes } from './records/keys/sealing.ts';
import { runRoutes } from './run-routes.ts';
import { retentionRoutes } from './records/retention.ts';
import { runQueueing, type RunQueueing } from './run-queueing.ts';
import { openRunServices, type RunServices } from './run-services.ts';
import { scheduleServices } from './schedule-services.ts';
import { checkDeploymentRoute } from './records/catalogue/check-deployment.ts';
import { deploymentRoutes } from './records/catalogue/deployments.ts';
import { machineRoutes } from './records/catalogue/machines.ts';
import type { RecordRoutes } from './records/catalogue/record-answers.ts';
import { workflowVersionRoutes } from './records/catalogue/versions.ts';
import { workflowRoutes } from './records/catalogue/workflows.ts';

interface Gateway extends AsyncDisposable {
  readonly app: Koa;
  /** Responds to reads of ended runs before `app` does. */
  readonly quick: QuickAnswer;
  /** What the archive has of the present log: each run once. */
  readonly archived: Archive['runs'];
  readonly keptSince: RunServices['keptSince'];
  /** Call it when the service stops: waiting requests get a response, and streams end. */
  readonly stopping: () => void;
}

/** Puts the HTTP side of the gateway together. */
export const openGateway = ({ metrics: registry, ...given }: GatewayParts): Gateway => {
  const open = new AsyncDisposableStack();
  const { config } = given;
  const parts = { ...given, clients: clientAddresses(config.RUNLEDGER_TRUSTED_PROXIES, given.logger) };
  const metrics = gatewayMetrics(registry);
  const services = openRunServices(parts, metrics, open);
  const queueing = runQueueing(parts, services, metrics);
  fillGauges(registry, parts.log);
  roomGauges(registry, services.room.counts);
  if (config.RUNLEDGER_ARCHIVE !== 'none')
    archiveGauges(registry, { log: parts.log, records: archiveRecords(parts.log) }, parts.isProjecting);
  subscriptionGauges(registry, services.subscriptions, config.RUNLEDGER_STREAMS_MAX);
  const onUse = reserveGauge(registry, parts.log);
  const audit = openAudit({ log: parts.log, now, onLost: metrics.auditLost, onUse });
  open.use(audit.refused);
  const people = accountOptions(parts, services, audit);
  const routes = [
    ...allRoutes(parts, services, { metrics, queueing }, { record: audit.record, people }),
    ...scheduleServices({ ...parts, metrics: registry }, services, queueing, metrics, open),
    ...erasureServices(parts, services, metrics, open),
  ];
  const authentication = cachedAuthentication({
    log: parts.log,
    now,
    clock,
    tokens: services.tokens,
    findSession: (text) => services.accounts.callers.find(text),
  });
  const limiter = rateLimiter(parts, metrics);
  const serving = servingOf(parts, { authentication, limiter }, metrics, audit);
  const app = createApp({
    basePath: config.RUNLEDGER_BASE_PATH,
    routes,
    plainRoutes: plainRoutesOf(parts, services, routes, metrics.uploaded),
    ...serving,
  });
  return {
    app,
    quick: quickAnswers(parts, services, { authentication, limiter }, metrics),
    archived: services.archive.runs,
    keptSince: services.keptSince,
    stopping: () => services.subscriptions.stop(),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
};

/** All that a gateway is made of, but its metrics. */
type Parts = Omit<GatewayParts, 'metrics'> & { readonly clients: ClientAddresses };

const allRoutes = (
  parts: Parts,
  services: RunServices,
  { metrics, queueing }: { readonly metrics: GatewayMetrics; readonly queueing: RunQueueing },
  { record, people }: { readonly record: Audit['record']; readonly people: AccountRoutes },
): Route[] => {
  const { config, log, views, instance, logger, publicUrl, seenPosition } = parts;
  const apiUrl = (): string => `${publicUrl()}${config.RUNLEDGER_BASE_PATH}`;
  const { current, fresh, room, shown, quotas, records } = services;
  const fleet = executors(services.scheduler);
  const box = secretBox(config.RUNLEDGER_SECRET_KEYS);
  const findUser = (org_id: string, id: string) => catalogue(log).getUser(org_id, id);
  return [
    ...runRoutes({ parts, services, metrics, queueing, record }),
    ...auditRoutes(log),
    ...webhookRoutes({
      log,
      views,
      fresh,
      current,
      shown,
      room,
      writer: { service: 'gateway', instance },
      box,
      now,
      onConflict: metrics.conflict,
    }),
    ...catalogueRoutes({
      records,
      deletion: services.deletion,
      longestRun: services.longestRun,
      scheduler: services.scheduler,
      quotas,
      now,
    }),
    ...fileRoutes({ files: services.files, store: services.outputs.store, apiUrl, logger }),
    ...uploadRoutes({ files: services.files, apiUrl }),
    usageRoute(quotas),
    ...retentionRoutes({
      log,
      records: services.retention,
      runsDays: config.RUNLEDGER_RUN_RETENTION_DAYS,
      keepsOutputsForMs: () => services.outputs.store.keepsForMs(),
    }),
    ...accountRoutes(people),
    ...apiKeyRoutes({ log, findUser, isValidSession: (key) => services.accounts.callers.isValid(key), now }),
    whoamiRoute({ findOrganisation: (id) => catalogue(log).getOrganisation(id), findUser }),
    ...sealingRoutes({ kinds: [sealedSigningSecrets(log, box, now)], box }),
    queuesRoute({ scheduler: services.scheduler }),
    ...deadLetterRoutes(log),
    systemRoute({ log, position: () => seenPosition()?.sequence, untrustedProxy: parts.clients.untrusted }),
    ...executorRoutes({ executors: fleet, drain: drainExecutor({ log, executors: fleet, now, clock }) }),
  ];
};

/** What the routes for people need. */
const accountOptions = (
  { config, log, logger, publicUrl }: Omit<GatewayParts, 'metrics'>,
  { accounts }: RunServices,
  { record, refused }: Audit,
): AccountRoutes => {
  const settings = oidcSettings(config);
  return {
    accounts,
    halves: sessionHalves(config.RUNLEDGER_PUBLIC_URL),
    record,
    onRefused: refused.count,
    findOrganisation: (id) => catalogue(log).getOrganisation(id),
    publicUrl,
    provider: settings && openIdProvider({ settings, logger, clock }),
    pending: pendingSignIns(secretBox(config.RUNLEDGER_SECRET_KEYS), now),
    redirectUri: () => redirectUri(publicUrl(), config),
    now,
  };
};

/** The page at `/`, the OpenAPI document with its reference, what attempts request, and output files. */
const plainRoutesOf = (
  { config, consoleFiles, log, logger, publicUrl }: Omit<GatewayParts, 'metrics'>,
  { outputs: { store, needsLog }, outputUrls, stores, secrets, quotas, files, records }: RunServices,
  routes: readonly Route[],
  onUploaded: (bytes: number) => void,
): PlainRoute[] => {
  const admit = admitUpload(quotas);
  const operations = withExampleIds(
    routes.map((route) => route.operation),
    config.RUNLEDGER_EXAMPLE_IDS,
  );
  const basePath = config.RUNLEDGER_BASE_PATH;
  return [
    homeRoute({ basePath, publicUrl, consolePath: consoleFiles && CONSOLE_PATH }),
    ...(consoleFiles ? consoleRoutes(consoleFiles, basePath) : []),
    ...referenceRoutes({ basePath, operations, publicUrl }),
    providerCallback({ basePath, publicUrl }),
    ...executionRoutes({
      config,
      log,
      stores,
      secrets,
      blobQuota: quotas.blob_bytes,
      findDeployment: (org_id, id) => records.deployments.get(org_id, id),
      logger,
      clock,
      store,
      files,
      findVersion: (org_id, id) => records.versions.getRecord(org_id, id),
      admit,
      onUploaded,
    }),
    ...outputRoutes({ store, urls: outputUrls, readNeedsLog: needsLog, logger }),
  ];
};

/** Who may send a request now. */
interface Admission {
  readonly authentication: Authentication;
  readonly limiter: RateLimiter;
}

const rateLimiter = (
  { config, log }: Pick<GatewayParts, 'config' | 'log'>,
  { rate: counters }: Pick<GatewayMetrics, 'rate'>,
): RateLimiter =>
  rateLimit({ log, limit: config.RUNLEDGER_RATE_LIMIT, clock, timeoutMs: RATE_LIMIT_TIMEOUT_MS, counters });

const quickAnswers = (
  { config, log, views, logger, clients }: Parts,
  { fresh, ended }: Pick<RunServices, 'fresh' | 'ended'>,
  { authentication, limiter }: Admission,
  metrics: GatewayMetrics,
): QuickAnswer => {
  const { peek } = views;
  if (!peek) return (_request, _response, otherwise) => otherwise();
  return quickReads({
    basePath: config.RUNLEDGER_BASE_PATH,
    headers: commonHeaders(config.RUNLEDGER_PUBLIC_URL),
    log,
    recentKey: authentication.recentKey,
    rateAtOnce: limiter.atOnce,
    peek,
    fresh,
    ended,
    onRead: metrics.runRead,
    onAnswered: noteAnswers({ onResponse: metrics.answered, logger }),
    addressOf: clients.of,
    clock,
  });
};

/** What every request passes through. */
const servingOf = (
  { config, log, logger, clients }: Pick<Parts, 'config' | 'log' | 'logger' | 'clients'>,
  { authentication, limiter }: Admission,
  metrics: GatewayMetrics,
  { record, refused }: Audit,
): Omit<AppOptions, 'basePath' | 'routes' | 'plainRoutes'> => ({
  serving: {
    ...identifying({ config, clients }, { authentication, limiter }, refused.count),
    audited: recordOperation(record),
    body: jsonBody(config.RUNLEDGER_BODY_MAX_BYTES, config.RUNLEDGER_JSON_DUPLICATES),
  },
  edge: {
    corsOrigins: config.RUNLEDGER_CORS_ORIGINS,
    clients,
    publicUrl: config.RUNLEDGER_PUBLIC_URL,
    log,
  },
  failures: knownFailures,
  onResponse: metrics.answered,
  logger,
  clock,
});

/** Who sent a request. */
const identifying = (
  { config, clients }: Pick<Parts, 'config' | 'clients'>,
  { authentication, limiter }: Admission,
  onRefused: OnCredentialRefused,
): Pick<Serving, 'identifyCaller' | 'identifyVisitor'> => {
  const addressOf = clients.of;
  const halves = sessionHalves(config.RUNLEDGER_PUBLIC_URL);
  const { authenticate } = authentication;
  return {
    identifyCaller: identifyCaller({ authenticate, addressOf, limitRate: limiter.limit, onRefused, halves }),
    identifyVisitor: (ctx) => ({ address: addressOf(ctx.req) ?? null, session: halves.read(ctx) }),
  };
};

/** The operations on the records that an organisation makes its runs from. */
const catalogueRoutes = (parts: RecordRoutes): Route[] => [
  ...machineRoutes(parts),
  ...workflowRoutes(parts),
  ...workflowVersionRoutes(parts),
  checkDeploymentRoute(parts),
  ...deploymentRoutes(parts),
];
