import { Usage, type Resource, type ResourceUsage } from '@runledger/contracts/http/organisations';
import type { OrgId } from '@runledger/contracts/ids';
import type { FreshViews } from '../../views/fresh-views.ts';
import type { Kit } from '../../kit.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { SecretRecords } from '../catalogue/secret-records.ts';
import type { ScheduleRecords } from '../schedule-records.ts';
import { openBlobQuota, heldQuota, type BlobQuota, type HeldQuota } from './blob-quota.ts';
import { openQuotaBound, type QuotaBound, type QuotaBoundOptions } from './quota-bound.ts';
import { Refused } from '../../door/refusal.ts';
import { type Caller, operation, route, type Route } from '../../door/operation.ts';

/** What each organisation uses of everything that all organisations share, and what it may use. */
export interface Quotas extends Readonly<Record<Resource, QuotaBound | BlobQuota | HeldQuota>> {
  readonly queued_runs: QuotaBound;
  readonly catalogue_records: QuotaBound;
  readonly schedules: QuotaBound;
  /** That its programs get. */
  readonly secrets: QuotaBound;
  /** Of workflows, with the definitions of their inputs. */
  readonly workflow_bytes: QuotaBound;
  /** Of inputs and lists of outputs over 4 KiB. */
  readonly blob_bytes: BlobQuota;
  /** Of output files. */
  readonly output_bytes: QuotaBound;
  /** That clients uploaded, with unfinished uploads. */
  readonly files: QuotaBound;
  readonly file_bytes: QuotaBound;
  /** Of weights that are kept for versions. */
  readonly model_bytes: QuotaBound;
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
  readonly records: Catalogue;
  readonly schedules: ScheduleRecords;
  readonly secrets: SecretRecords;
  /** Files and uploads of an organisation, and their bytes. */
  readonly sumFiles: (org_id: OrgId) => Promise<{ readonly files: number; readonly bytes: number }>;
  /** Bytes of the models of an organisation. */
  readonly sumModels: (org_id: OrgId) => Promise<number>;
  /** How long output files are kept, in milliseconds. */
  readonly keepsOutputsForMs: () => Promise<number>;
}

/** Of the day at the beginning of a time in ISO 8601. */
const DAY_LENGTH = 10;

/** The day from which on output files are kept. */
const retentionCutoff = (now: Date, keptForMs: number): string => {
  const ms = Math.max(now.getTime() - keptForMs, 0);
  return new Date(ms).toISOString().slice(0, DAY_LENGTH);
};

/** `open` closes them. */
export const openQuotas = (
  { config, views, stores, metrics, clock, now }: Kit,
  { fresh: { becomeFresh }, records, schedules, secrets, sumFiles, sumModels, keepsOutputsForMs }: Counted,
  open: AsyncDisposableStack,
): Quotas => {
  const { refused } = metrics.quotas;
  const bound = (
    resource: Resource,
    limit: number,
    counting: Pick<QuotaBoundOptions, 'count' | 'becomeFresh'>,
  ): QuotaBound => open.use(openQuotaBound({ ...counting, limit, onRefused: refused(resource), clock }));
  /** Counted in records, which every acknowledged write has. */
  const ofRecords = (resource: Resource, limit: number, count: QuotaBoundOptions['count']): QuotaBound =>
    bound(resource, limit, { count, becomeFresh: async () => true });
  const held = (resource: Resource, limit: number): HeldQuota =>
    heldQuota({ limit, onRefused: refused(resource) });

  const streams = held('streams', config.RUNLEDGER_QUOTA_STREAMS);
  return {
    queued_runs: bound('queued_runs', config.RUNLEDGER_QUEUE_MAX, {
      count: (org_id, limit) => views.countQueued(org_id, limit),
      becomeFresh,
    }),
    catalogue_records: ofRecords('catalogue_records', config.RUNLEDGER_QUOTA_CATALOGUE_RECORDS, (org_id) =>
      records.count(org_id),
    ),
    schedules: ofRecords(
      'schedules',
      config.RUNLEDGER_QUOTA_SCHEDULES,
      async (org_id) => (await schedules.all(org_id)).length,
    ),
    secrets: ofRecords(
      'secrets',
      config.RUNLEDGER_QUOTA_SECRETS,
      async (org_id) => (await secrets.list(org_id)).length,
    ),
    workflow_bytes: ofRecords('workflow_bytes', config.RUNLEDGER_QUOTA_WORKFLOW_BYTES, (org_id) =>
      records.versions.bytes(org_id),
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
      count: async (org_id) =>
        views.sumOutputBytes(org_id, retentionCutoff(now(), await keepsOutputsForMs())),
      becomeFresh,
    }),
    files: ofRecords('files', config.RUNLEDGER_QUOTA_FILES, async (org_id) => (await sumFiles(org_id)).files),
    file_bytes: ofRecords(
      'file_bytes',
      config.RUNLEDGER_QUOTA_FILE_BYTES,
      async (org_id) => (await sumFiles(org_id)).bytes,
    ),
    model_bytes: ofRecords('model_bytes', config.RUNLEDGER_QUOTA_MODEL_BYTES, sumModels),
    uploads: held('uploads', config.RUNLEDGER_QUOTA_UPLOADS),
    streams,
    streamLimits: streamLimits(streams, config.RUNLEDGER_KEY_STREAMS_MAX, refused('key_streams')),
  };
};

/** As the quota's own `within`. @throws {Refused} for a request by which the organisation would exceed it @throws what `use` throws */
export const withinQuota = async <Result>(
  quota: Pick<QuotaBound, 'within'>,
  org_id: OrgId,
  amount: number,
  use: () => Promise<Result>,
  why: string,
): Promise<Result> => {
  const result = await quota.within(org_id, amount, use);
  if (result === 'over_quota') throw new Refused({ code: 'quota_reached', why });
  return result;
};

/** Who has a stream or a waiting read open. */
export interface StreamHolder {
  readonly org_id: OrgId;
  /** As the rate, the limit of a key is that of all keys derived from it. Their tokens have one together. */
  readonly family: string;
}

export const streamHolder = ({ org_id, key: { id, rate_key = id } }: Caller): StreamHolder => ({
  org_id,
  family: rate_key,
});

/** What an organisation, and each key, may have of the streams and waiting reads of this gateway. */
export interface StreamLimits {
  /** Call it before `hold`, without an await in between. */
  readonly refuses: (holder: StreamHolder) => 'over_quota' | 'over_key_limit' | undefined;
  readonly hold: (holder: StreamHolder) => Disposable;
}

const streamLimits = (
  ofOrganisation: HeldQuota,
  limitOfKey: number,
  onKeyRefused: (org_id: OrgId) => void,
): StreamLimits => {
  const ofKey = heldQuota<string>({ limit: limitOfKey, onRefused: () => undefined });
  return {
    refuses: ({ org_id, family }) => {
      if (!ofKey.refuses(family)) return ofOrganisation.refuses(org_id) ? 'over_quota' : undefined;
      onKeyRefused(org_id);
      return 'over_key_limit';
    },
    hold: ({ org_id, family }) => {
      const held = new DisposableStack();
      held.use(ofKey.hold(family));
      held.use(ofOrganisation.hold(org_id));
      return held;
    },
  };
};

/**
 * Lets an organisation begin an upload, which lasts until the result is disposed. The attempt has announced its bytes in the
 * log. @throws {Refused} with what to do: 507 ends the attempt, and after 503 the executor tries again
 */
export type AdmitUpload = (org_id: OrgId, bytes: number) => Promise<Disposable>;

export const admitUpload =
  ({ output_bytes: outputBytes, uploads }: Quotas): AdmitUpload =>
  async (org_id, bytes) => {
    if (!(await outputBytes.hasCapacity(org_id, bytes))) {
      throw new Refused({
        code: 'storage_quota_reached',
        why: `With the files of this run the organisation would have more output files than its quota of ${outputBytes.limit} bytes. An operator has to raise RUNLEDGER_QUOTA_OUTPUT_BYTES of the gateway, or wait until old files expire`,
      });
    }
    if (uploads.refuses(org_id)) {
      throw new Refused({
        code: 'attempt_uploads_limited',
        why: `The organisation has ${uploads.limit} uploads in progress at this gateway, which is its limit (RUNLEDGER_QUOTA_UPLOADS). Try again`,
      });
    }
    return uploads.hold(org_id);
  };

const usageOperation = operation({
  id: 'getUsage',
  method: 'GET',
  path: '/usage',
  tag: 'Organisation',
  summary: 'Read what the organisation uses, and what it may use',
  description:
    'All organisations share the stores of this installation, and each may use its part of them. The limits of `uploads` and `streams` are of each gateway.',
  scope: 'runs:read',
  request: {},
  response: { status: 200, description: 'Each resource with what is used of it.', body: Usage },
});

export const usageRoute = (quotas: Quotas): Route =>
  route(usageOperation, async (_request, { org_id }) => {
    const usage = async ([resource, unit]: [Resource, ResourceUsage['unit']]) => {
      const { used, limit } = quotas[resource];
      return [resource, { used: (await used(org_id)) ?? null, limit, unit }] as const;
    };
    const units = Object.entries(UNITS) as [Resource, ResourceUsage['unit']][];
    return Object.fromEntries(await Promise.all(units.map(usage))) as Usage;
  });

const UNITS: Readonly<Record<Resource, ResourceUsage['unit']>> = {
  queued_runs: 'runs',
  catalogue_records: 'records',
  schedules: 'schedules',
  secrets: 'secrets',
  workflow_bytes: 'bytes',
  blob_bytes: 'bytes',
  output_bytes: 'bytes',
  files: 'files',
  file_bytes: 'bytes',
  model_bytes: 'bytes',
  uploads: 'uploads',
  streams: 'streams',
};
