import type { Archive } from './archive/archive.ts';
import { consoleRoutes, CONSOLE_PATH, type ConsoleFile } from './document/console.ts';
import { withExampleIds } from './document/example-ids.ts';
import { homeRoute } from './document/home.ts';
import { referenceRoutes } from './document/reference.ts';
import { clientAddresses, type ClientAddresses } from './door/edge.ts';
import { createApp } from './door/app.ts';
import { identifyCaller } from './door/caller.ts';
import { jsonBody } from './door/json-body.ts';
import type { PlainRoute, Route } from './door/operation.ts';
import { rateLimit } from './door/rate-limit.ts';
import { sessionHalves } from './door/credentials.ts';
import { codeArchives } from './files/code-archives.ts';
import { fileRoutes } from './files/file-routes.ts';
import type { Files } from './files/files.ts';
import { modelRoutes } from './files/model-routes.ts';
import type { Models } from './files/models.ts';
import type { OpenedOutputs } from './files/output-stores.ts';
import { outputRoutes } from './files/send-file.ts';
import { uploadRoutes } from './files/upload-routes.ts';
import type { Kit } from './kit.ts';
import { knownFailures } from './known-failures.ts';
import { auditRoutes } from './records/audit/audit-routes.ts';
import type { Audit } from './records/audit/audit.ts';
import { recordOperation } from './records/audit/record-operation.ts';
import type { Catalogue } from './records/catalogue/catalogue.ts';
import { checkDeploymentRoute } from './records/catalogue/check-deployment.ts';
import type { DeleteRecords } from './records/catalogue/delete-records.ts';
import { deploymentRoutes } from './records/catalogue/deployments.ts';
import { machineRoutes } from './records/catalogue/machines.ts';
import { workflowVersionRoutes } from './records/catalogue/versions.ts';
import { workflowRoutes } from './records/catalogue/workflows.ts';
import { erasureRoutes, type ErasureRecords } from './records/erasure.ts';
import { apiKeyRoutes, whoamiRoute } from './records/keys/api-keys-routes.ts';
import { cachedAuthentication } from './records/keys/cached-authentication.ts';
import { sealingRoutes } from './records/keys/sealing.ts';
import { deadLetterRoutes } from './records/operators/dead-letters.ts';
import { executorRoutes } from './records/operators/executors.ts';
import { queuesRoute } from './records/operators/queues.ts';
import { systemRoute } from './records/operators/system.ts';
import type { SecretRecords } from './records/catalogue/secret-records.ts';
import { secretRoutes } from './records/catalogue/secrets.ts';
import { accountRoutes } from './records/people/account-routes.ts';
import type { Accounts } from './records/people/accounts.ts';
import { providerCallback } from './records/people/provider-routes.ts';
import { usageRoute } from './records/quotas/quotas.ts';
import { retentionRoutes, type RetentionRecords } from './records/retention.ts';
import type { ScheduleRecords } from './records/schedule-records.ts';
import { activityRoute } from './runs/activity.ts';
import { executionRoutes } from './runs/attempts/execution-routes.ts';
import { preparationRoutes } from './runs/attempts/preparation-routes.ts';
import { cancelManyRoute, cancelRoute } from './runs/cancel.ts';
import { countRunsRoute, listRunsRoute } from './runs/list.ts';
import { deleteRoutes, tombstoneRoute } from './runs/delete.ts';
import { eventsRoute } from './runs/events.ts';
import type { SeenPosition } from './runs/facts/log-capacity.ts';
import { getRoute } from './runs/get.ts';
import { historyRoute } from './runs/history.ts';
import { logsRoute } from './runs/logs.ts';
import { pictureRoute } from './runs/picture.ts';
import { queueRoute } from './runs/queue.ts';
import { rerunManyRoute } from './runs/rerun-many.ts';
import { rerunRoute } from './runs/rerun.ts';
import type { Runs } from './runs/runs.ts';
import { scheduleRoutes } from './runs/schedules/schedules-routes.ts';
import { tokenRoute } from './runs/token.ts';
import { waitingRoute } from './runs/waiting.ts';
import { webhookRoutes } from './runs/webhook-routes.ts';
import type Koa from 'koa';

/** What the folders below have opened, for the operations that clients call. */
export interface Opened {
  readonly runs: Runs;
  readonly archive: Archive;
  readonly records: Catalogue;
  readonly deletion: DeleteRecords;
  readonly people: Accounts;
  readonly audit: Audit;
  readonly erasures: ErasureRecords;
  readonly retention: RetentionRecords;
  readonly secretRecords: SecretRecords;
  readonly schedules: { readonly records: ScheduleRecords; readonly brokerNow: () => Promise<number> };
  readonly files: Files;
  readonly models: Models;
  readonly outputs: OpenedOutputs;
  readonly seenPosition: SeenPosition;
  readonly consoleFiles: ReadonlyMap<string, ConsoleFile> | undefined;
}

/** Every operation of the API, in the order of its document. */
const operations = (kit: Kit, opened: Opened, clients: ClientAddresses): Route[] => {
  const { log } = kit;
  const { runs, records, deletion, people, audit, files, models, outputs, schedules } = opened;
  const { scheduler, quotas, longestRun, ready } = runs;
  const catalogued = { records, deletion, longestRun, scheduler, quotas, ready };
  return [
    queueRoute(kit, runs),
    waitingRoute(kit, runs),
    getRoute(kit, runs),
    eventsRoute(runs),
    logsRoute(kit, runs),
    historyRoute(kit, runs),
    pictureRoute(kit, runs),
    tokenRoute(kit, runs),
    cancelRoute(runs),
    ...deleteRoutes(runs),
    tombstoneRoute(kit, runs),
    rerunRoute(kit, runs),
    listRunsRoute(kit, runs),
    countRunsRoute(kit, runs),
    activityRoute(kit, runs),
    cancelManyRoute(kit, runs),
    rerunManyRoute(kit, runs),
    ...auditRoutes(log),
    ...webhookRoutes(kit, runs),
    ...machineRoutes(kit, catalogued),
    ...workflowRoutes(kit, catalogued),
    ...workflowVersionRoutes(kit, catalogued, codeArchives(kit, files, outputs.store, models)),
    ...modelRoutes(models, files, records.versions),
    checkDeploymentRoute(kit, catalogued),
    ...deploymentRoutes(kit, catalogued),
    ...secretRoutes(kit, opened.secretRecords, quotas),
    ...fileRoutes(kit, files, outputs.store),
    ...uploadRoutes(files),
    usageRoute(quotas),
    ...retentionRoutes(kit, opened.retention, () => outputs.store.keepsForMs()),
    ...accountRoutes(kit, people, audit),
    ...apiKeyRoutes(kit, people.callers),
    whoamiRoute(kit),
    ...sealingRoutes(kit),
    queuesRoute(scheduler),
    ...deadLetterRoutes(log),
    systemRoute({ log, position: () => opened.seenPosition()?.sequence, untrustedProxy: clients.untrusted }),
    ...executorRoutes(kit, scheduler),
    ...scheduleRoutes(kit, runs, schedules),
    ...erasureRoutes(kit, opened.erasures, (id) => records.getOrganisation(id)),
  ];
};

/** The page at `/`, the OpenAPI document with its reference, what attempts request, and output files. */
const pages = (kit: Kit, opened: Opened, routes: readonly Route[]): PlainRoute[] => {
  const { config } = kit;
  const { runs, records, files, models, outputs, consoleFiles } = opened;
  const { RUNLEDGER_BASE_PATH: basePath, RUNLEDGER_EXAMPLE_IDS: exampleIds } = config;
  const described = routes.map(({ operation }) => operation);
  return [
    homeRoute(kit, consoleFiles && CONSOLE_PATH),
    ...(consoleFiles ? consoleRoutes(consoleFiles, basePath) : []),
    ...referenceRoutes(kit, withExampleIds(described, exampleIds)),
    providerCallback(kit),
    ...executionRoutes(
      kit,
      runs,
      { ...records, secrets: opened.secretRecords },
      { files, store: outputs.store, models },
    ),
    ...preparationRoutes(kit, { ...records, secrets: opened.secretRecords }, models),
    ...outputRoutes(kit, outputs, runs.urls),
  ];
};

/** The operations and pages behind the door: who may send a request, what its body may be, and what is written of it. */
export const serveRoutes = (kit: Kit, opened: Opened): Koa => {
  const { config, logger } = kit;
  const { people, audit, runs } = opened;
  const clients = clientAddresses(config.RUNLEDGER_TRUSTED_PROXIES, logger);
  const halves = sessionHalves(config.RUNLEDGER_PUBLIC_URL);
  const authenticate = cachedAuthentication(kit, runs.tokens, people.callers);
  const limitRate = rateLimit(kit);
  const routes = operations(kit, opened, clients);
  return createApp(kit, {
    routes,
    plainRoutes: pages(kit, opened, routes),
    serving: {
      identifyCaller: identifyCaller(authenticate, limitRate, clients.of, halves, audit.refused.count),
      identifyVisitor: (ctx) => ({ address: clients.of(ctx.req) ?? null, session: halves.read(ctx) }),
      audited: recordOperation(audit.record),
      body: jsonBody(config.RUNLEDGER_BODY_MAX_BYTES, config.RUNLEDGER_JSON_DUPLICATES),
    },
    clients,
    failures: knownFailures,
  });
};
