import type { Readiness } from '@runledger/event-log/connect/observability';
import { fileRecords, sumFiles } from './files/file-records.ts';
import { polledClock } from '@runledger/coordination/broker-clock';
import type { NameResolver } from '@runledger/webhooks/name-resolver';
import type { CallbackPolicy } from '@runledger/webhooks/callback-policy';
import { secretBox } from '@runledger/webhooks/secret-box';
import type Koa from 'koa';
import { archiveState, openArchive, type Archive } from './archive/archive.ts';
import type { ConsoleFile } from './document/console.ts';
import { openFiles } from './files/files.ts';
import { modelRecords, openModels, sumModels } from './files/models.ts';
import { openModelStore, openOutputStore } from './files/output-stores.ts';
import { gatewayGauges } from './gateway-gauges.ts';
import { serveRoutes } from './gateway-routes.ts';
import { openKeeper } from './keeping/keeper.ts';
import { startUpkeep } from './keeping/upkeep.ts';
import type { Kit } from './kit.ts';
import { openAudit } from './records/audit/audit.ts';
import { catalogue } from './records/catalogue/catalogue.ts';
import { organisationSecrets } from './records/catalogue/secret-records.ts';
import { deleteRecords } from './records/catalogue/delete-records.ts';
import { erasureRecords } from './records/erasure.ts';
import { accounts } from './records/people/accounts.ts';
import { openQuotas } from './records/quotas/quotas.ts';
import { retentionCutoff, retentionRecords, type RetentionCutoff } from './records/retention.ts';
import { scheduleRecords } from './records/schedule-records.ts';
import { openRuns } from './runs/runs.ts';
import { startSchedules } from './runs/schedules/due-schedules.ts';
import { freshViews } from './views/fresh-views.ts';
import type { ProjectionPosition } from './views/projection-start.decide.ts';
import type { RunProjection } from './views/run-projection.ts';

/** What only this process knows. */
export interface Surroundings {
  /** Identifies this gateway process. */
  readonly instance: string;
  /** Undefined where the console is off. */
  readonly consoleFiles: ReadonlyMap<string, ConsoleFile> | undefined;
  /** Whether this gateway keeps the views up to date now. */
  readonly isProjecting: () => boolean;
  /** The latest position of the views that this gateway has seen, at most a few seconds old. */
  readonly seenPosition: () => ProjectionPosition | undefined;
  /** Work between two batches of the projection, if it is here. */
  readonly between: RunProjection['between'];
  /** Which addresses callbacks may reach. It is complete once the gateway listens, since it forbids its own address. */
  readonly policy: () => CallbackPolicy;
  readonly resolver: NameResolver;
}

interface Gateway extends AsyncDisposable {
  readonly app: Koa;
  /** What the archive has of the present log: each run once. */
  readonly archived: Archive['runs'];
  /** Which organisations are not archived, for `/readyz`. */
  readonly archiveState: () => Promise<Readiness>;
  readonly retentionCutoff: RetentionCutoff;
  /** Call it when the service stops: waiting requests get a response, and streams end. */
  readonly stopping: () => void;
}

const FRESH_VIEWS_TIMEOUT_MS = 2_000;

/** The whole gateway, folder by folder from below: records and files, the archive, runs, what is kept, and the door. */
export const openGateway = (kit: Kit, surroundings: Surroundings): Gateway => {
  const open = new AsyncDisposableStack();
  const { config, log, views, logger, now, clock } = kit;
  const { isProjecting, between } = surroundings;
  const fresh = freshViews({ log, views, timeoutMs: FRESH_VIEWS_TIMEOUT_MS, clock });

  const records = catalogue(log);
  const schedules = scheduleRecords(log);
  const secretRecords = organisationSecrets(log, secretBox(config.RUNLEDGER_SECRET_KEYS));
  const retention = retentionRecords(log);
  const erasures = erasureRecords(log);
  const people = accounts(kit);
  const audit = openAudit(kit);
  open.use(audit.refused);

  const outputs = openOutputStore(config, { log, logger, now });
  open.use(outputs.store);
  const modelStore = open.use(openModelStore(config, { log, logger, now }));
  const uploads = fileRecords(log);
  const weights = modelRecords(log);
  const keepsOutputsForMs = (): Promise<number> => outputs.store.keepsForMs();
  const quotas = openQuotas(
    kit,
    {
      fresh,
      records,
      schedules,
      secrets: secretRecords,
      sumFiles: (org_id) => sumFiles(uploads, org_id),
      sumModels: (org_id) => sumModels(weights, org_id),
      keepsOutputsForMs,
    },
    open,
  );
  const brokerTime = polledClock(log, 'KV_FILES');
  const brokerTimeOfFiles = async (): Promise<Date> => new Date(await brokerTime());
  const files = openFiles(kit, uploads, outputs.store, quotas, brokerTimeOfFiles);
  const models = openModels(kit, {
    records: weights,
    store: modelStore,
    outputs: outputs.store,
    files,
    quota: quotas.model_bytes,
    brokerTime: brokerTimeOfFiles,
  });

  const since = retentionCutoff(kit, retention);
  const archive = openArchive(kit, since);
  const below = {
    archive,
    fresh,
    files,
    models,
    outputs: outputs.store,
    records,
    secretRecords,
    quotas,
    sessions: people.callers,
  };
  const runs = openRuns(kit, { ...below, record: audit.record, ...surroundings }, open);

  const keeper = open.use(openKeeper(isProjecting, logger));
  startUpkeep(kit, keeper, {
    ...runs,
    ...below,
    erasures,
    retention,
    memberships: people.memberships,
    fileRecords: uploads,
    brokerTimeOfFiles,
    between,
  });
  const brokerNow = polledClock(log, 'KV_SCHEDULES');
  open.use(startSchedules(kit, runs, brokerNow, surroundings.instance));
  gatewayGauges(kit, runs, isProjecting);

  const app = serveRoutes(kit, {
    ...surroundings,
    ...below,
    runs,
    outputs,
    audit,
    people,
    erasures,
    retention,
    schedules: { records: schedules, brokerNow },
    deletion: deleteRecords(views, fresh, records, polledClock(log, 'KV_CATALOGUE')),
  });
  return {
    app,
    archived: archive.runs,
    archiveState: archiveState(kit),
    retentionCutoff: since,
    stopping: () => runs.subscriptions.stop(),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
};
