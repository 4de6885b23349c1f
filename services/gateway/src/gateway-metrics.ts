import { BLOB_STREAMS, type BlobStream } from '@runledger/contracts/blobs';
import { Counter, Gauge, Histogram, type Metrics } from '@runledger/service-kit/metrics';
import type { Resource } from '@runledger/contracts/http/organisations';
import type { OrgId } from '@runledger/contracts/ids';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { SegmentRecord } from './archive/archive-records.ts';

/** Called for each event, for metrics. */
export interface RateCounters {
  refused(): void;
  /** Tokens were taken from the shared bucket. */
  leaseTaken(): void;
  /** A request was let through without a token. */
  letThrough(): void;
}

/** No label holds an organisation, a run or a path: each value would be a series forever. */
export interface GatewayMetrics {
  /** For what observes a value when it is asked. */
  readonly registry: Metrics;
  /** `operation` is its id, or the pattern of a page's path. */
  readonly answered: (operation: string, status: number, seconds: number) => void;
  readonly queued: () => void;
  readonly notQueued: (why: NotQueued) => void;
  readonly conflict: () => void;
  /** A run was ended because the log no longer holds its beginning, or is about to lose it. */
  readonly expired: () => void;
  /** A run was read that has an expiry behind its end. */
  readonly secondEnd: () => void;
  readonly runRead: (from: 'views' | 'log') => void;
  readonly uploaded: (bytes: number) => void;
  /** Runs, and bytes of output files. */
  readonly removed: (why: WhyRemoved, removed: { readonly runs: number; readonly bytes: number }) => void;
  /** A blob that nothing referred to was erased. */
  readonly erased: (stream: BlobStream, bytes: number) => void;
  /** An audit record, or its outcome, could not be stored. */
  readonly auditLost: () => void;
  readonly rate: RateCounters;
  readonly quotas: QuotaMetrics;
  readonly archive: ArchiveMetrics;
}

const WHY_NOT_QUEUED = [
  'key_taken',
  'key_of_deleted_run',
  'log_nearly_full',
  'queue_full',
  'outlives_log',
  'inputs_gone',
  'inputs_store_full',
  'inputs_too_large',
  'inputs_over_quota',
  'views_unavailable',
  'unreadable',
] as const;
type NotQueued = (typeof WHY_NOT_QUEUED)[number];

const WHY_REMOVED = ['deletion', 'retention'] as const;
type WhyRemoved = (typeof WHY_REMOVED)[number];

const REQUEST_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

type NewCounter = (name: string, help: string, labelNames?: string[]) => Counter;

export const gatewayMetrics = (registry: Metrics): GatewayMetrics => {
  const registers = [registry];
  const counter: NewCounter = (name, help, labelNames = []) =>
    new Counter({ name, help, labelNames, registers });
  const requests = counter('runledger_gateway_http_requests_total', 'Responses, by operation and status.', [
    'operation',
    'status',
  ]);
  const seconds = new Histogram({
    name: 'runledger_gateway_http_request_seconds',
    help: 'From a request to its response, by operation. A waiting read takes as long as it waits; a stream counts until it begins.',
    labelNames: ['operation'],
    buckets: REQUEST_SECONDS,
    registers,
  });
  const queued = counter('runledger_gateway_runs_queued_total', 'Runs that this gateway has accepted.');
  const notQueued = counter(
    'runledger_gateway_runs_not_queued_total',
    'Requests that queued no run, by reason: a full queue, log or store of inputs, a used idempotency key, unavailable views.',
    ['why'],
  );
  // A rate would not show the first event of a series that begins at 1.
  for (const why of WHY_NOT_QUEUED) notQueued.inc({ why }, 0);
  const conflicts = counter(
    'runledger_gateway_conflicts_total',
    'Decisions that the log refused because another event was stored first. They were made again.',
  );
  const expired = counter(
    'runledger_gateway_runs_expired_total',
    'Runs that this gateway ended because they outlived the log.',
  );
  const secondEnds = counter(
    'runledger_gateway_second_ends_total',
    'Runs that were read with an expiry behind their end, which former releases could store. They are shown with their end.',
  );
  const reads = counter(
    'runledger_gateway_run_reads_total',
    'Runs that were read from the views, or from the log because the views were behind.',
    ['from'],
  );
  const uploaded = counter('runledger_gateway_upload_bytes_total', 'Bytes of output files that were stored.');
  return {
    registry,
    erased: erasedBlobs(counter),
    removed: removals(counter),
    answered: (operation, status, took) => {
      requests.inc({ operation, status: String(status) });
      seconds.observe({ operation }, took);
    },
    queued: () => queued.inc(),
    notQueued: (why) => notQueued.inc({ why }),
    conflict: () => conflicts.inc(),
    expired: () => expired.inc(),
    secondEnd: () => secondEnds.inc(),
    runRead: (from) => reads.inc({ from }),
    uploaded: (bytes) => uploaded.inc(bytes),
    auditLost: lostRecords(counter),
    rate: rateCounters(counter),
    quotas: quotaMetrics(registry),
    archive: archiveMetrics(registry),
  };
};

const erasedBlobs = (counter: NewCounter): GatewayMetrics['erased'] => {
  const erased = counter(
    'runledger_gateway_erased_blob_bytes_total',
    'Bytes of workflows, inputs and lists of outputs that were erased because nothing referred to them, by stream.',
    ['stream'],
  );
  for (const stream of BLOB_STREAMS) erased.inc({ stream }, 0);
  return (stream, bytes) => erased.inc({ stream }, bytes);
};

const lostRecords = (counter: NewCounter): (() => void) => {
  const lost = counter(
    'runledger_gateway_audit_records_lost_total',
    'Audit records, or their outcomes, that could not be stored. The service log has them as errors.',
  );
  return () => lost.inc();
};

const removals = (counter: NewCounter): GatewayMetrics['removed'] => {
  const runs = counter(
    'runledger_gateway_removed_runs_total',
    'Runs that this gateway removed from the views, because a request deleted them or because they were old enough.',
    ['why'],
  );
  const bytes = counter(
    'runledger_gateway_erased_file_bytes_total',
    'Bytes of output files that this gateway erased, because a request deleted them or because they were old enough.',
    ['why'],
  );
  for (const why of WHY_REMOVED) for (const removed of [runs, bytes]) removed.inc({ why }, 0);
  return (why, removed) => {
    runs.inc({ why }, removed.runs);
    bytes.inc({ why }, removed.bytes);
  };
};

const rateCounters = (counter: NewCounter): RateCounters => {
  const refused = counter(
    'runledger_gateway_rate_refusals_total',
    'Requests that were refused because their API key exceeded its rate.',
  );
  const leases = counter(
    'runledger_gateway_rate_token_leases_total',
    'Token leases that this gateway took from the shared bucket of a rate limit.',
  );
  const letThrough = counter(
    'runledger_gateway_rate_let_through_total',
    'Requests that were not counted because the broker did not answer in time.',
  );
  return {
    refused: () => refused.inc(),
    leaseTaken: () => leases.inc(),
    letThrough: () => letThrough.inc(),
  };
};

interface ArchiveMetrics {
  readonly sealed: (segment: SegmentRecord) => void;
  readonly lost: (messages: number) => void;
  readonly failed: () => void;
}

const archiveMetrics = (registry: Metrics): ArchiveMetrics => {
  const counter = (name: string, help: string): Counter =>
    new Counter({ name: `runledger_gateway_archive_${name}_total`, help, registers: [registry] });
  const segments = counter('segments', 'Segments that this gateway wrote and read back.');
  const messages = counter('messages', 'Messages of runs in segments that this gateway wrote.');
  const bytes = counter('bytes', 'Bytes of segments that this gateway wrote.');
  const lost = counter('lost_messages', 'Messages that left the log before they were archived.');
  const failures = counter('failures', 'Rounds of the archive that failed. The service log says why.');
  return {
    sealed: (segment) => {
      segments.inc();
      messages.inc(segment.messages);
      bytes.inc(segment.bytes);
    },
    lost: (count) => lost.inc(count),
    failed: () => failures.inc(),
  };
};

interface QuotaMetrics {
  /** What to call for each refusal of a resource. */
  readonly refused: (resource: Resource | 'key_streams') => (org_id: OrgId) => void;
}

const AT_QUOTA_FOR_MS = 60_000;
const MAX_ORGANISATIONS = 10_000;

/** No label holds an organisation: each would be a series forever. */
const quotaMetrics = (registry: Metrics): QuotaMetrics => {
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
