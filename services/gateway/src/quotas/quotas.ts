import type { Usage } from '@runledger/contracts/http/usage';
import type { OrgId } from '@runledger/contracts/ids';
import type { FreshViews } from '../projection/fresh-views.ts';
import type { RunViews } from '../projection/run-views.ts';
import { heldQuota, type HeldQuota } from './held-quota.ts';
import { openQuotaBound, type QuotaBound } from './quota-bound.ts';
import type { QuotaMetrics } from './quota-metrics.ts';

export interface QuotasOptions {
  readonly config: {
    readonly RUNLEDGER_QUEUE_MAX: number;
    readonly RUNLEDGER_QUOTA_CATALOGUE_RECORDS: number;
    readonly RUNLEDGER_QUOTA_STREAMS: number;
  };
  readonly views: RunViews;
  readonly fresh: FreshViews;
  /** With every record whose creation was acknowledged. */
  readonly countRecords: (org_id: OrgId) => Promise<number>;
  readonly metrics: QuotaMetrics;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** What each organisation uses of everything that all organisations share, and what it may use. */
export interface Quotas {
  readonly queuedRuns: QuotaBound;
  readonly catalogueRecords: QuotaBound;
  /** Event streams and waiting reads. */
  readonly streams: HeldQuota;
  readonly usage: (org_id: OrgId) => Promise<Usage>;
}

/** `open` closes them. */
export const openQuotas = (
  { config, views, fresh, countRecords, metrics, clock }: QuotasOptions,
  open: AsyncDisposableStack,
): Quotas => {
  const queuedRuns = open.use(
    openQuotaBound({
      count: (org_id, limit) => views.countQueued(org_id, limit),
      fresh,
      limit: config.RUNLEDGER_QUEUE_MAX,
      onRefused: metrics.refused('queued_runs'),
      clock,
    }),
  );
  const catalogueRecords = open.use(
    openQuotaBound({
      count: countRecords,
      fresh: async () => true,
      limit: config.RUNLEDGER_QUOTA_CATALOGUE_RECORDS,
      onRefused: metrics.refused('catalogue_records'),
      clock,
    }),
  );
  const streams = heldQuota({
    limit: config.RUNLEDGER_QUOTA_STREAMS,
    onRefused: metrics.refused('streams'),
  });
  return {
    queuedRuns,
    catalogueRecords,
    streams,
    usage: async (org_id) => {
      const [queued, records] = await Promise.all(
        [queuedRuns, catalogueRecords].map(({ used }) => used(org_id)),
      );
      return {
        queued_runs: { used: queued ?? null, limit: queuedRuns.limit, unit: 'runs' },
        catalogue_records: { used: records ?? null, limit: catalogueRecords.limit, unit: 'records' },
        streams: { used: streams.held(org_id), limit: streams.limit, unit: 'streams' },
      };
    },
  };
};
