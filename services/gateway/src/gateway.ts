import { fileRecords, sumFiles } from './files/file-records.ts';
import { newUuid } from '@runledger/contracts/ids';
import { polledClock } from '@runledger/coordination/broker-clock';
import type { NameResolver } from '@runledger/webhooks/name-resolver';
import type { CallbackPolicy } from '@runledger/webhooks/callback-policy';
import type Koa from 'koa';
import { openArchive, type Archive } from './archive/archive.ts';
import type { ConsoleFile } from './document/console.ts';
import type { QuickAnswer } from './door/http-server.ts';
import { openFiles } from './files/files.ts';
import { openOutputStore } from './files/output-stores.ts';
import { gatewayGauges } from './gateway-gauges.ts';
import { serveRoutes } from './gateway-routes.ts';
import { openKeeper } from './keeping/keeper.ts';
import { startUpkeep } from './keeping/upkeep.ts';
import type { Kit } from './kit.ts';
import { openAudit } from './records/audit/audit.ts';
import { catalogueRecords } from './records/catalogue/catalogue.ts';
import { deleteRecords } from './records/catalogue/delete-records.ts';
import { erasureRecords } from './records/erasure.ts';
import { accounts } from './records/people/accounts.ts';
import { openQuotas } from './records/quotas/quotas.ts';
import { keptSince, retentionRecords, type KeptSince } from './records/retention.ts';
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
  /** Responds to reads of ended runs before `app` does. */
  readonly quick: QuickAnswer;
  /** What the archive has of the present log: each run once. */
  readonly archived: Archive['runs'];
  readonly keptSince: KeptSince;
  /** Call it when the service stops: waiting requests get a response, and streams end. */
  readonly stopping: () => void;
}

const FRESH_VIEWS_TIMEOUT_MS = 2_000;
const DAY_MS = 86_400_000;

/** The whole gateway, room by room from below: records and files, the archive, runs, what is kept, and the door. */
export const openGateway = (kit: Kit, surroundings: Surroundings): Gateway => {
  const open = new AsyncDisposableStack();
  const { config, log, views, logger, now, clock, metrics } = kit;
  const { isProjecting, between } = surroundings;
  const fresh = freshViews({ log, views, timeoutMs: FRESH_VIEWS_TIMEOUT_MS, clock });

  const records = catalogueRecords(log);
  const schedules = scheduleRecords(log);
  const retention = retentionRecords(log);
  const erasures = erasureRecords(log);
  const people = accounts(kit);
  const audit = openAudit(kit);
  open.use(audit.refused);

  const outputs = openOutputStore(config, { log, logger, now });
  open.use(outputs.store);
  const stored = { records: fileRecords(log), store: outputs.store };
  const keepsOutputsForMs = (): Promise<number> => outputs.store.keepsForMs();
  const quotas = openQuotas(
    kit,
    { fresh, records, schedules, sumFiles: (org_id) => sumFiles(stored.records, org_id), keepsOutputsForMs },
    open,
  );
  const brokerTime = polledClock(log, 'KV_FILES');
  const brokerTimeOfFiles = async (): Promise<Date> => new Date(await brokerTime());
  const files = openFiles({
    ...stored,
    quotas,
    maxBytes: config.RUNLEDGER_FILE_MAX_BYTES,
    keptMs: config.RUNLEDGER_FILE_KEEP_DAYS * DAY_MS,
    brokerTime: brokerTimeOfFiles,
    clock,
    newId: newUuid,
    logger,
    onUploaded: metrics.uploaded,
  });

  const since = keptSince(kit, retention);
  const archive = openArchive(kit, since, open);
  const below = { archive, fresh, files, outputs: outputs.store, records, quotas, sessions: people.callers };
  const runs = openRuns(kit, { ...below, record: audit.record, ...surroundings }, open);

  const keeper = open.use(openKeeper(isProjecting, logger));
  startUpkeep(kit, keeper, runs, {
    records,
    erasures,
    retention,
    memberships: people.memberships,
    files,
    fileRecords: stored.records,
    outputs: outputs.store,
    brokerTimeOfFiles,
    between,
  });
  const brokerNow = polledClock(log, 'KV_SCHEDULES');
  open.use(startSchedules(kit, runs, brokerNow, surroundings.instance));
  gatewayGauges(kit, runs, isProjecting);

  const served = serveRoutes(kit, {
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
    ...served,
    archived: archive.runs,
    keptSince: since,
    stopping: () => runs.subscriptions.stop(),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
};
