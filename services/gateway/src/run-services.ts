import { openBlobStores, type BlobStores } from '@runledger/blob-store/blob-stores';
import { polledClock } from '@runledger/coordination/polled-clock';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { secretBox } from '@runledger/webhooks/signing/secret-box';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { outputLists, type OutputLists } from '@runledger/blob-store/output-lists';
import { outputUrls, type OutputUrls } from '@runledger/webhooks/signing/output-urls';
import { receiptSigner, type ReceiptSigner } from '@runledger/webhooks/signing/receipt-signer';
import { signer } from '@runledger/webhooks/signing/signer';
import { accounts, type Accounts } from './records/people/accounts.ts';
import { openArchive, type Archive } from './archive/archive.ts';
import { openRecovery } from './archive/recover-missed.ts';
import { isValidKey } from './records/keys/api-keys.ts';
import { runTokens, type RunTokens } from './door/run-token.ts';
import { erasureRecords } from './records/erasure.ts';
import { catalogueRecords, type CatalogueRecords } from './records/catalogue/catalogue.ts';
import { openBlobSweep, openFileSweep } from './keeping/sweeps.ts';
import { eraseBlobs, unreferencedByRuns, type RunReferencesOptions } from './files/blobs.ts';
import { deleteRecords, type DeleteRecords } from './records/catalogue/delete-records.ts';
import { openFiles, type Files, type FilesOptions } from './files/files.ts';
import { fileRecords, sumFiles, type FileRecords } from './files/file-records.ts';
import { openLogShares } from './files/kept-logs.ts';
import type { Caller } from './door/operation.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { clock, now, type GatewayParts } from './gateway-parts.ts';
import type { RunView } from './views/run-view.ts';
import { freshViews, type FreshViews } from './views/fresh-views.ts';
import { openCountedRuns, logRoom, type LogRoom } from './runs/facts/log-room.ts';
import { currentRun, openFindView, type ReadCurrentRun } from './runs/facts/current-run.ts';
import { openOutputStore, type OpenedOutputs } from './files/output-stores.ts';
import { openQuotas, type Quotas, type QuotasOptions } from './records/quotas/quotas.ts';
import { longestRun, type LongestRun } from './records/longest-run.ts';
import { shownWebhooks, type ShownWebhooks } from './runs/facts/shown-webhooks.ts';
import { endedResponses, type EndedResponses } from './runs/run-response.ts';
import { expireRun, expireNotification, type ExpireRun } from './runs/facts/expire-run.ts';
import { openRunExpiry, type ExpireRunsOptions } from './keeping/expire-runs.ts';
import {
  openErasing,
  eraseFiles,
  eraseInputFiles,
  type EraseDeletedOptions,
} from './keeping/erase-deleted.ts';
import { openRunNumbers, type RunNumbers } from './runs/facts/run-numbers.ts';
import { openRetention, type RetentionOptions } from './keeping/retention.ts';
import { retentionRecords, type RetentionRecords } from './records/retention.ts';
import { inputSecrets, type InputSecrets } from './runs/facts/input-secrets.ts';
import { openKeyRevalidation, type KeyRevalidation } from './runs/key-revalidation.ts';
import { openRunSubscriptions, type RunSubscriptions } from './runs/run-subscriptions.ts';
import { scheduleRecords, type ScheduleRecords } from './records/schedule-records.ts';
import { openSchedulerClient, type SchedulerClient } from './records/operators/scheduler-client.ts';

/** How long a list waits for views that are behind. */
const FRESH_VIEWS_TIMEOUT_MS = 2_000;

/** What operations share. */
export interface RunServices {
  readonly accounts: Accounts;
  readonly archive: Archive;
  /** Runs of the organisation that were created before are not kept: milliseconds since 1970. */
  readonly keptSince: (org_id: string) => Promise<number>;
  readonly current: ReadCurrentRun;
  /** As `current`, and nothing without the log. */
  readonly confirmed: ReadCurrentRun;
  readonly ended: EndedResponses;
  readonly shown: ShownWebhooks;
  readonly fresh: FreshViews;
  /** The outputs of runs that have long lists of them. */
  readonly lists: OutputLists;
  readonly room: LogRoom;
  readonly numbers: RunNumbers;
  readonly expire: ExpireRun;
  readonly longestRun: LongestRun;
  readonly quotas: Quotas;
  readonly records: CatalogueRecords;
  readonly schedules: ScheduleRecords;
  readonly deletion: DeleteRecords;
  readonly retention: RetentionRecords;
  readonly outputs: OpenedOutputs;
  readonly files: Files;
  readonly scheduler: SchedulerClient;
  readonly subscriptions: RunSubscriptions;
  readonly keys: KeyRevalidation;
  readonly tokens: RunTokens;
  readonly outputUrls: OutputUrls;
  readonly receipts: ReceiptSigner;
  readonly stores: BlobStores;
  readonly secrets: InputSecrets;
}

/** `open` closes them in reverse order. */
export const openRunServices = (
  parts: Omit<GatewayParts, 'metrics'>,
  metrics: GatewayMetrics,
  open: AsyncDisposableStack,
): RunServices => {
  const { config, log, views, isProjecting, logger, instance } = parts;
  const reading = openReading(parts, metrics, open);
  const { stores, lists, fresh, retention } = reading;
  const { expired: onExpired, conflict: onConflict } = metrics;
  const writer = { service: 'gateway', instance } as const;
  const archived = reading.archive.run;
  const expiring = { log, views, fresh, archived, writer, now, onExpired, onConflict };
  const expire = expireRun(expiring);
  const records = catalogueRecords(log);
  const { versions } = records;
  const schedules = scheduleRecords(log);
  const onErased = metrics.erased;
  open.use(openLogShares({ log, isProjecting, logger }));
  open.use(openBlobSweep({ log, stores, versions, views, fresh, isProjecting, logger, onErased }));
  const outputs = openOutputStore(config, { log, logger, now });
  open.use(outputs.store);
  const erase = eraseFiles({ store: outputs.store, lists });
  const runsDays = config.RUNLEDGER_RUN_RETENTION_DAYS;
  const kept = { views, isProjecting, logger, records: retention, runsDays };
  const outliving = { expire, expireNotification: expireNotification(expiring) };
  const ofFiles = fileRecords(log);
  const used = { stores, fresh, records, schedules, outputs, ofFiles };
  const quotas = openQuotas(countedUse({ config, views }, used, metrics), open);
  const files = openUploads(parts, { records: ofFiles, store: outputs.store, quotas }, metrics, open);
  const erasing = {
    log,
    fresh,
    erase,
    noteErasure: reading.archive.noteErasure,
    ...atOnce({ stores, views, fresh, files }, metrics),
  };
  openUpkeep({ ...kept, ...outliving, ...erasing, onRemoved: metrics.removed }, open);
  const signed = signedTexts(parts);
  const ofPeople = accounts({ log, secretKeys: config.RUNLEDGER_SECRET_KEYS, now, logger });
  const counted = open.use(openCountedRuns({ ...parts, clock }));
  return {
    ...reading,
    ended: endedResponses(),
    room: logRoom({ log, counted, clock }),
    numbers: open.use(openRunNumbers({ log, clock })),
    expire,
    longestRun: longestRun({ log, webhookGiveUpS: config.RUNLEDGER_WEBHOOK_GIVE_UP_S, clock }),
    quotas,
    records,
    schedules,
    deletion: deleteRecords({ records, views, fresh, now: brokerTime(log, 'KV_CATALOGUE') }),
    outputs,
    files,
    scheduler: open.use(openSchedulerClient(log)),
    ...signed,
    accounts: ofPeople,
    ...openStreams(parts, { ...reading, quotas, ...signed, accounts: ofPeople }, open),
  };
};

/** What operations read runs by. */
const openReading = (
  parts: Omit<GatewayParts, 'metrics'>,
  metrics: GatewayMetrics,
  open: AsyncDisposableStack,
): Pick<
  RunServices,
  'archive' | 'confirmed' | 'current' | 'fresh' | 'keptSince' | 'lists' | 'retention' | 'shown' | 'stores'
> => {
  const { log, views, logger } = parts;
  const find = open.use(openFindView(views, logger)).call;
  const stores = openBlobStores(log);
  const lists = outputLists({ blobs: stores.blobs, logger });
  const fresh = freshViews({ log, views, timeoutMs: FRESH_VIEWS_TIMEOUT_MS, clock });
  const shown = shownWebhooks();
  const retention = retentionRecords(log);
  const keptSince = keptSinceOf(parts, retention);
  const archive = archiveOf(parts, keptSince, metrics, open);
  const archived = archive.run;
  const onSecondEnd = repairSecondEnd(parts, metrics);
  const onRead = metrics.runRead;
  const reading = { log, find, fresh, shown, archived, logger, onSecondEnd, onRead };
  const current = currentRun(reading);
  const confirmed = currentRun({ ...reading, mustConfirm: true });
  open.use(openRecovery({ ...parts, archive }));
  return { archive, confirmed, current, fresh, keptSince, lists, retention, shown, stores };
};

/** The view comes to say what the run is shown as. */
const repairSecondEnd =
  ({ views, logger }: Pick<GatewayParts, 'views' | 'logger'>, metrics: GatewayMetrics) =>
  (first: RunView): void => {
    const { run_id, status } = first.run;
    metrics.secondEnd();
    logger.error(
      { run_id, status },
      'a run that had ended has an expiry behind its end; the end counts, and its view is made again',
    );
    views.save([first]).catch((error: unknown) => {
      logger.warn({ run_id, err: error }, 'the view of a run with a fact behind its end could not be saved');
    });
  };

/** What keeps facts that leave the log, for as long as their organisation keeps runs. */
const archiveOf = (
  { config, log, logger, isProjecting }: Omit<GatewayParts, 'metrics'>,
  keptSince: RunServices['keptSince'],
  { archive: metrics }: Pick<GatewayMetrics, 'archive'>,
  open: AsyncDisposableStack,
): Archive => {
  const erasures = erasureRecords(log);
  const isErased = async (org_id: string): Promise<boolean> => (await erasures.find(org_id)) !== undefined;
  return openArchive({ config, log, logger, now, isProjecting, isErased, keptSince, metrics }, open);
};

const keptSinceOf = (
  { config, log }: Pick<GatewayParts, 'config' | 'log'>,
  retention: Pick<RetentionRecords, 'get'>,
): RunServices['keptSince'] => {
  const brokerNow = polledClock(log, 'RUNS');
  return async (org_id) => {
    const { runs_days } = await retention.get(orgId(org_id));
    const days = Math.min(runs_days ?? Infinity, config.RUNLEDGER_RUN_RETENTION_DAYS);
    return (await brokerNow()) - days * DAY_MS;
  };
};

/** What streams and waiting reads need. */
const openStreams = (
  { config, log, logger }: Pick<GatewayParts, 'config' | 'log' | 'logger'>,
  {
    current,
    lists,
    quotas: { streamLimits: limits },
    outputUrls: { of: outputUrl },
    accounts: { callers },
  }: Pick<RunServices, 'accounts' | 'current' | 'lists' | 'quotas' | 'outputUrls'>,
  open: AsyncDisposableStack,
): Pick<RunServices, 'subscriptions' | 'keys'> => {
  const maxSubscribers = config.RUNLEDGER_STREAMS_MAX;
  return {
    subscriptions: open.use(
      openRunSubscriptions({ log, current, lists, outputUrl, maxSubscribers, limits, logger, clock }),
    ),
    keys: open.use(openKeyRevalidation({ isValid: isValid(log, callers), now, logger })),
  };
};

/** Of a key, or of a session in the form of one. */
const isValid =
  (
    log: EventLog,
    callers: Accounts['callers'],
  ): ((caller: Pick<Caller, 'key' | 'session'>) => Promise<boolean>) =>
  ({ key, session }) =>
    session ? callers.isValid(key) : isValidKey(log, key, now);

/** What this installation signs and seals, and recognises. */
const signedTexts = ({
  config,
  publicUrl,
}: Pick<GatewayParts, 'config' | 'publicUrl'>): Pick<
  RunServices,
  'tokens' | 'secrets' | 'outputUrls' | 'receipts'
> => {
  const keys = config.RUNLEDGER_SECRET_KEYS;
  return {
    tokens: runTokens(signer(keys, 'run-token')),
    receipts: receiptSigner(keys),
    secrets: inputSecrets(secretBox(keys), signer(keys, 'idempotent-request')),
    outputUrls: outputUrls({ publicUrl, keys, ttlS: config.RUNLEDGER_OUTPUT_URL_TTL_S, now }),
  };
};

/** What the quotas count. */
const countedUse = (
  { config, views }: Pick<GatewayParts, 'config' | 'views'>,
  {
    stores,
    fresh,
    records,
    schedules,
    outputs,
    ofFiles,
  }: Pick<RunServices, 'stores' | 'fresh' | 'records' | 'schedules' | 'outputs'> & {
    readonly ofFiles: FileRecords;
  },
  metrics: GatewayMetrics,
): QuotasOptions => ({
  config,
  views,
  blobs: stores.blobs,
  fresh,
  countRecords: (org_id) => records.count(org_id),
  countSchedules: (org_id) => schedules.count(org_id),
  sumWorkflowBytes: (org_id) => records.versions.bytes(org_id),
  sumFiles: (org_id) => sumFiles(ofFiles, org_id),
  keepsOutputsForMs: () => outputs.store.keepsForMs(),
  metrics: metrics.quotas,
  clock,
  now,
});

const brokerTime = (log: EventLog, stream: 'KV_CATALOGUE' | 'KV_FILES'): (() => Promise<Date>) => {
  const time = polledClock(log, stream);
  return async () => new Date(await time());
};

const DAY_MS = 86_400_000;

/** The files that clients upload. The gateway that projects erases those that have expired. */
const openUploads = (
  { config, log, isProjecting, logger }: Omit<GatewayParts, 'metrics'>,
  stored: Pick<FilesOptions, 'records' | 'store' | 'quotas'>,
  { uploaded: onUploaded }: Pick<GatewayMetrics, 'uploaded'>,
  open: AsyncDisposableStack,
): Files => {
  const keptMs = config.RUNLEDGER_FILE_KEEP_DAYS * DAY_MS;
  const time = brokerTime(log, 'KV_FILES');
  open.use(openFileSweep({ ...stored, fileKeptMs: keptMs, brokerTime: time, isProjecting, logger }));
  const maxBytes = config.RUNLEDGER_FILE_MAX_BYTES;
  return openFiles({
    ...stored,
    maxBytes,
    keptMs,
    brokerTime: time,
    clock,
    newId: newUuid,
    logger,
    onUploaded,
  });
};

/** What of a deleted run is erased at once, beside its output files. */
const atOnce = (
  {
    stores,
    files,
    ...references
  }: RunReferencesOptions & { readonly stores: BlobStores; readonly files: Files },
  metrics: GatewayMetrics,
): Pick<EraseDeletedOptions, 'eraseBlobs' | 'eraseInputFiles'> => ({
  eraseBlobs: eraseBlobs({
    store: stores.blobs,
    unreferenced: unreferencedByRuns(references),
    onErased: ({ bytes }) => metrics.erased('BLOBS', bytes),
  }),
  eraseInputFiles: eraseInputFiles({ files, blobs: stores.blobs }),
});

/** What the gateway that projects does to runs, by itself. */
const openUpkeep = (
  {
    onRemoved,
    ...parts
  }: Omit<ExpireRunsOptions & RetentionOptions, 'views' | 'onRemoved'> &
    Pick<GatewayParts, 'views'> &
    Pick<EraseDeletedOptions, 'eraseBlobs' | 'eraseInputFiles' | 'fresh' | 'noteErasure'> & {
      readonly onRemoved: GatewayMetrics['removed'];
    },
  open: AsyncDisposableStack,
): void => {
  open.use(openRunExpiry(parts));
  open.use(openErasing({ ...parts, onErased: (erased) => onRemoved('deletion', erased) }));
  open.use(openRetention({ ...parts, onRemoved: (removed) => onRemoved('retention', removed) }));
};
