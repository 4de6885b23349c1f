import { BLOB_STREAMS, type BlobStream } from '@runledger/contracts/blobs';
import { Counter, Gauge, Histogram, type Metrics } from '@runledger/service-kit/metrics';
import type { ScheduleOutcome } from '@runledger/contracts/catalogue/schedules';
import type { Resource } from '@runledger/contracts/http/organisations';
import type { OrgId } from '@runledger/contracts/ids';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';

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
  readonly schedules: ScheduleMetrics;
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

interface ArchiveMetrics {
  readonly written: (bytes: number) => void;
  readonly lost: (messages: number) => void;
  readonly failed: () => void;
}

interface ScheduleMetrics {
  /** So many times have this outcome. */
  readonly handled: (outcome: ScheduleOutcome['outcome'], times: number) => void;
  /** From a time until its run was queued. */
  readonly late: (seconds: number) => void;
  /** A schedule could not be handled, and is tried again. */
  readonly failed: () => void;
}

const OUTCOMES = ['queued', 'skipped', 'missed', 'refused'] as const satisfies ScheduleOutcome['outcome'][];
const LATE_SECONDS = [0.25, 0.5, 1, 2, 5, 15, 60, 300, 3_600, 86_400];

export const gatewayMetrics = (registry: Metrics): GatewayMetrics => {
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[] = []): Counter =>
    new Counter({ name: `runledger_gateway_${name}_total`, help, labelNames, registers });
  const adding = (name: string, help: string): ((count: number) => void) => {
    const sum = counter(name, help);
    return (count) => sum.inc(count);
  };
  const counting = (name: string, help: string): (() => void) => {
    const add = adding(name, help);
    return () => add(1);
  };
  /** By a label with these values. A rate would not show the first event of a series that begins at 1. */
  const addingBy = <Value extends string>(
    label: string,
    values: readonly Value[],
    name: string,
    help: string,
  ): ((value: Value, count: number) => void) => {
    const sum = counter(name, help, [label]);
    for (const value of values) sum.inc({ [label]: value }, 0);
    return (value, count) => sum.inc({ [label]: value }, count);
  };
  const requests = counter('http_requests', 'Responses, by operation and status.', ['operation', 'status']);
  const seconds = new Histogram({
    name: 'runledger_gateway_http_request_seconds',
    help: 'From a request to its response, by operation. A waiting read takes as long as it waits; a stream counts until it begins.',
    labelNames: ['operation'],
    buckets: REQUEST_SECONDS,
    registers,
  });
  const notQueued = addingBy(
    'why',
    WHY_NOT_QUEUED,
    'runs_not_queued',
    'Requests that queued no run, by reason: a full queue, log or store of inputs, a used idempotency key, unavailable views.',
  );
  const reads = counter(
    'run_reads',
    'Runs that were read from the views, or from the log because the views were behind.',
    ['from'],
  );
  const removedRuns = addingBy(
    'why',
    WHY_REMOVED,
    'removed_runs',
    'Runs that this gateway removed from the views, because a request deleted them or because they were old enough.',
  );
  const erasedBytes = addingBy(
    'why',
    WHY_REMOVED,
    'erased_file_bytes',
    'Bytes of output files that this gateway erased, because a request deleted them or because they were old enough.',
  );
  const archived = counting('archive_runs', 'Runs whose object this gateway wrote and read back.');
  const archivedBytes = adding('archive_bytes', 'Bytes of these objects.');
  const late = new Histogram({
    name: 'runledger_gateway_schedule_late_seconds',
    help: 'From a time of a schedule until its run was queued, on the clock of the broker.',
    buckets: LATE_SECONDS,
    registers,
  });
  return {
    registry,
    answered: (operation, status, took) => {
      requests.inc({ operation, status: String(status) });
      seconds.observe({ operation }, took);
    },
    queued: counting('runs_queued', 'Runs that this gateway has accepted.'),
    notQueued: (why) => notQueued(why, 1),
    conflict: counting(
      'conflicts',
      'Decisions that the log refused because another event was stored first. They were made again.',
    ),
    expired: counting('runs_expired', 'Runs that this gateway ended because they outlived the log.'),
    runRead: (from) => reads.inc({ from }),
    uploaded: adding('upload_bytes', 'Bytes of output files that were stored.'),
    removed: (why, { runs, bytes }) => {
      removedRuns(why, runs);
      erasedBytes(why, bytes);
    },
    erased: addingBy(
      'stream',
      BLOB_STREAMS,
      'erased_blob_bytes',
      'Bytes of workflows, inputs and lists of outputs that were erased because nothing referred to them, by stream.',
    ),
    auditLost: counting(
      'audit_records_lost',
      'Audit records, or their outcomes, that could not be stored. The service log has them as errors.',
    ),
    rate: {
      refused: counting(
        'rate_refusals',
        'Requests that were refused because their API key exceeded its rate.',
      ),
      leaseTaken: counting(
        'rate_token_leases',
        'Token leases that this gateway took from the shared bucket of a rate limit.',
      ),
      letThrough: counting(
        'rate_let_through',
        'Requests that were not counted because the broker did not answer in time.',
      ),
    },
    quotas: quotaMetrics(registry),
    archive: {
      written: (bytes) => {
        archived();
        archivedBytes(bytes);
      },
      lost: adding(
        'archive_lost_messages',
        'Messages that left the log before they were archived; of one organisation that was behind at least so many.',
      ),
      failed: counting(
        'archive_failures',
        'How often an organisation fell behind because a run of it could not be archived.',
      ),
    },
    schedules: {
      handled: addingBy('outcome', OUTCOMES, 'schedule_times', 'Times of schedules, by what came of them.'),
      late: (seconds) => late.observe(seconds),
      failed: counting('schedule_failures', 'Schedules that could not be handled, and were tried again.'),
    },
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
