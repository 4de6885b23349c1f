import type { Resource } from '@runledger/contracts/http/usage';
import type { OrgId } from '@runledger/contracts/ids';
import type { BlobStore } from '@runledger/blob-store/store/blob-store';
import { Counter, Gauge, type Metrics } from '@runledger/service-kit/observability/metrics';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { FreshViews } from '../../views/fresh-views.ts';
import type { RunViews } from '../../views/run-views.ts';
import { openBlobQuota, heldQuota, type BlobQuota, type HeldQuota } from './blob-quota.ts';
import { openQuotaBound, type QuotaBound, type QuotaBoundOptions } from './quota-bound.ts';
import { streamLimits, type StreamLimits } from './stream-limits.ts';
import type { QuotasConfig } from './quotas-config.ts';
import { Refused } from '../../door/refusal.ts';

export interface QuotasOptions {
  readonly config: QuotasConfig;
  readonly views: RunViews;
  /** Of inputs and lists of outputs. */
  readonly blobs: Pick<BlobStore, 'put'>;
  readonly fresh: Pick<FreshViews, 'becomeFresh'>;
  /** With every record whose creation was acknowledged. */
  readonly countRecords: (org_id: OrgId) => Promise<number>;
  readonly countSchedules: (org_id: OrgId) => Promise<number>;
  /** Of the workflows and the definitions of inputs, with every acknowledged version. */
  readonly sumWorkflowBytes: (org_id: OrgId) => Promise<number>;
  /** Files and uploads of an organisation, and their bytes. */
  readonly sumFiles: (org_id: OrgId) => Promise<{ readonly files: number; readonly bytes: number }>;
  /** How long output files are kept, in milliseconds. */
  readonly keepsOutputsForMs: () => Promise<number>;
  readonly metrics: QuotaMetrics;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly now: () => Date;
}

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

/** Of the day at the beginning of a time in ISO 8601. */
const DAY_LENGTH = 10;

/** The day from which on output files are kept. */
const keptSince = async ({
  now,
  keepsOutputsForMs,
}: Pick<QuotasOptions, 'now' | 'keepsOutputsForMs'>): Promise<string> => {
  const ms = Math.max(now().getTime() - (await keepsOutputsForMs()), 0);
  return new Date(ms).toISOString().slice(0, DAY_LENGTH);
};

/** What is counted in records, which every acknowledged write has. */
const inRecords = (count: QuotaBoundOptions['count']): Pick<QuotaBoundOptions, 'count' | 'becomeFresh'> => ({
  count,
  becomeFresh: async () => true,
});

/** `open` closes them. */
export const openQuotas = (
  { config, views, fresh: { becomeFresh }, metrics, clock, ...options }: QuotasOptions,
  open: AsyncDisposableStack,
): Quotas => {
  const bound = (
    resource: Resource,
    limit: number,
    counting: Pick<QuotaBoundOptions, 'count' | 'becomeFresh'>,
  ): QuotaBound =>
    open.use(openQuotaBound({ ...counting, limit, onRefused: metrics.refused(resource), clock }));
  const held = (resource: Resource, limit: number): HeldQuota =>
    heldQuota({ limit, onRefused: metrics.refused(resource) });

  const { RUNLEDGER_KEY_STREAMS_MAX: limitOfKey } = config;
  const onKeyRefused = metrics.refused('key_streams');
  const streams = held('streams', config.RUNLEDGER_QUOTA_STREAMS);
  return {
    queued_runs: bound('queued_runs', config.RUNLEDGER_QUEUE_MAX, {
      count: (org_id, limit) => views.countQueued(org_id, limit),
      becomeFresh,
    }),
    catalogue_records: bound(
      'catalogue_records',
      config.RUNLEDGER_QUOTA_CATALOGUE_RECORDS,
      inRecords(options.countRecords),
    ),
    schedules: bound('schedules', config.RUNLEDGER_QUOTA_SCHEDULES, inRecords(options.countSchedules)),
    workflow_bytes: bound(
      'workflow_bytes',
      config.RUNLEDGER_QUOTA_WORKFLOW_BYTES,
      inRecords(options.sumWorkflowBytes),
    ),
    blob_bytes: open.use(
      openBlobQuota({
        limit: config.RUNLEDGER_QUOTA_BLOB_BYTES,
        blobs: options.blobs,
        views,
        becomeFresh,
        onRefused: metrics.refused('blob_bytes'),
        clock,
      }),
    ),
    output_bytes: bound('output_bytes', config.RUNLEDGER_QUOTA_OUTPUT_BYTES, {
      count: async (org_id) => views.sumOutputBytes(org_id, await keptSince(options)),
      becomeFresh,
    }),
    files: bound(
      'files',
      config.RUNLEDGER_QUOTA_FILES,
      inRecords(async (org_id) => (await options.sumFiles(org_id)).files),
    ),
    file_bytes: bound(
      'file_bytes',
      config.RUNLEDGER_QUOTA_FILE_BYTES,
      inRecords(async (org_id) => (await options.sumFiles(org_id)).bytes),
    ),
    uploads: held('uploads', config.RUNLEDGER_QUOTA_UPLOADS),
    streams,
    streamLimits: streamLimits({ ofOrganisation: streams, limitOfKey, onKeyRefused }),
  };
};

/** The refusal of a request by which an organisation would exceed its quota. */
export const overQuota = (why: string): Refused => new Refused({ code: 'quota_reached', why });

export interface QuotaMetrics {
  /** What to call for each refusal of a resource. */
  readonly refused: (resource: Resource | 'key_streams') => (org_id: OrgId) => void;
}

const AT_QUOTA_FOR_MS = 60_000;
const MAX_ORGANISATIONS = 10_000;

/** No label holds an organisation: each would be a series forever. */
export const quotaMetrics = (registry: Metrics): QuotaMetrics => {
  const refusals = new Counter({
    name: 'runledger_gateway_quota_refusals_total',
    help: 'Requests that were refused because of the quota of their organisation, by resource.',
    labelNames: ['resource'],
    registers: [registry],
  });
  const atQuota = new Map<string, LRUCache<OrgId, true>>();
  const gauge = new Gauge({
    name: 'runledger_gateway_organisations_at_quota',
    help: 'Organisations that this gateway refused something within the last minute because of their quota, by resource.',
    labelNames: ['resource'],
    registers: [],
    collect() {
      for (const [resource, organisations] of atQuota) {
        organisations.purgeStale();
        this.set({ resource }, organisations.size);
      }
    },
  });
  registry.registerMetric(gauge);
  return {
    refused: (resource) => {
      const organisations = new LRUCache<OrgId, true>({ ...atMost(MAX_ORGANISATIONS), ttl: AT_QUOTA_FOR_MS });
      atQuota.set(resource, organisations);
      // A rate would not show the first refusal of a series that begins at 1.
      refusals.inc({ resource }, 0);
      return (org_id) => {
        refusals.inc({ resource });
        organisations.set(org_id, true);
      };
    },
  };
};
