import type { Resource } from '@runledger/contracts/http/usage';
import type { OrgId } from '@runledger/contracts/ids';
import type { FreshViews } from '../../views/fresh-views.ts';
import type { Kit } from '../../kit.ts';
import type { CatalogueRecords } from '../catalogue/catalogue.ts';
import type { ScheduleRecords } from '../schedule-records.ts';
import { openBlobQuota, heldQuota, type BlobQuota, type HeldQuota } from './blob-quota.ts';
import { openQuotaBound, type QuotaBound, type QuotaBoundOptions } from './quota-bound.ts';
import { streamLimits, type StreamLimits } from './stream-limits.ts';
import { Refused } from '../../door/refusal.ts';

/** What each organisation uses of everything that all organisations share, and what it may use. */
export interface Quotas extends Readonly<Record<Resource, QuotaBound | BlobQuota | HeldQuota>> {
  readonly queued_runs: QuotaBound;
  readonly catalogue_records: QuotaBound;
  readonly schedules: QuotaBound;
  /** Of workflows, with the definitions of their inputs. */
  readonly workflow_bytes: QuotaBound;
  /** Of inputs and lists of outputs over 4 KiB. */
  readonly blob_bytes: BlobQuota;
  /** Of output files. */
  readonly output_bytes: QuotaBound;
  /** That clients uploaded, with unfinished uploads. */
  readonly files: QuotaBound;
  readonly file_bytes: QuotaBound;
  /** Of files of clients and executors, in progress at this gateway. */
  readonly uploads: HeldQuota;
  /** Event streams and waiting reads at this gateway. */
  readonly streams: HeldQuota;
  /** Those of the organisation and of each key together. */
  readonly streamLimits: StreamLimits;
}

/** Who counts what organisations use of the records and of the files. */
interface Counted {
  readonly fresh: FreshViews;
  /** With every record whose creation was acknowledged. */
  readonly records: CatalogueRecords;
  readonly schedules: ScheduleRecords;
  /** Files and uploads of an organisation, and their bytes. */
  readonly sumFiles: (org_id: OrgId) => Promise<{ readonly files: number; readonly bytes: number }>;
  /** How long output files are kept, in milliseconds. */
  readonly keepsOutputsForMs: () => Promise<number>;
}

/** Of the day at the beginning of a time in ISO 8601. */
const DAY_LENGTH = 10;

/** The day from which on output files are kept. */
const keptSince = (now: Date, keptForMs: number): string => {
  const ms = Math.max(now.getTime() - keptForMs, 0);
  return new Date(ms).toISOString().slice(0, DAY_LENGTH);
};

/** What is counted in records, which every acknowledged write has. */
const inRecords = (count: QuotaBoundOptions['count']): Pick<QuotaBoundOptions, 'count' | 'becomeFresh'> => ({
  count,
  becomeFresh: async () => true,
});

/** `open` closes them. */
export const openQuotas = (
  { config, views, stores, metrics, clock, now }: Kit,
  { fresh: { becomeFresh }, records, schedules, sumFiles, keepsOutputsForMs }: Counted,
  open: AsyncDisposableStack,
): Quotas => {
  const { refused } = metrics.quotas;
  const bound = (
    resource: Resource,
    limit: number,
    counting: Pick<QuotaBoundOptions, 'count' | 'becomeFresh'>,
  ): QuotaBound => open.use(openQuotaBound({ ...counting, limit, onRefused: refused(resource), clock }));
  const held = (resource: Resource, limit: number): HeldQuota =>
    heldQuota({ limit, onRefused: refused(resource) });

  const { RUNLEDGER_KEY_STREAMS_MAX: limitOfKey } = config;
  const onKeyRefused = refused('key_streams');
  const streams = held('streams', config.RUNLEDGER_QUOTA_STREAMS);
  return {
    queued_runs: bound('queued_runs', config.RUNLEDGER_QUEUE_MAX, {
      count: (org_id, limit) => views.countQueued(org_id, limit),
      becomeFresh,
    }),
    catalogue_records: bound(
      'catalogue_records',
      config.RUNLEDGER_QUOTA_CATALOGUE_RECORDS,
      inRecords((org_id) => records.count(org_id)),
    ),
    schedules: bound(
      'schedules',
      config.RUNLEDGER_QUOTA_SCHEDULES,
      inRecords((org_id) => schedules.count(org_id)),
    ),
    workflow_bytes: bound(
      'workflow_bytes',
      config.RUNLEDGER_QUOTA_WORKFLOW_BYTES,
      inRecords((org_id) => records.versions.bytes(org_id)),
    ),
    blob_bytes: open.use(
      openBlobQuota({
        limit: config.RUNLEDGER_QUOTA_BLOB_BYTES,
        blobs: stores.blobs,
        views,
        becomeFresh,
        onRefused: refused('blob_bytes'),
        clock,
      }),
    ),
    output_bytes: bound('output_bytes', config.RUNLEDGER_QUOTA_OUTPUT_BYTES, {
      count: async (org_id) => views.sumOutputBytes(org_id, keptSince(now(), await keepsOutputsForMs())),
      becomeFresh,
    }),
    files: bound(
      'files',
      config.RUNLEDGER_QUOTA_FILES,
      inRecords(async (org_id) => (await sumFiles(org_id)).files),
    ),
    file_bytes: bound(
      'file_bytes',
      config.RUNLEDGER_QUOTA_FILE_BYTES,
      inRecords(async (org_id) => (await sumFiles(org_id)).bytes),
    ),
    uploads: held('uploads', config.RUNLEDGER_QUOTA_UPLOADS),
    streams,
    streamLimits: streamLimits({ ofOrganisation: streams, limitOfKey, onKeyRefused }),
  };
};

/** The refusal of a request by which an organisation would exceed its quota. */
export const overQuota = (why: string): Refused => new Refused({ code: 'quota_reached', why });
