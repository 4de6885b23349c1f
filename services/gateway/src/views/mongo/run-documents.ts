import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import { runId, type OrgId } from '@runledger/contracts/ids';
import type { StoredView } from '../run-view.ts';
import { storedRun, type StoredRun } from '../stored-run.decide.ts';
import { refusedAsDuplicates, orUnavailable } from './mongo-errors.ts';
import { FILTERS, type FilterField } from '../list-query.decide.ts';
import {
  BLOB_FIELDS,
  bytesField,
  LIVE_FIELDS,
  liveFieldOf,
  REFERRING,
  type LiveField,
} from '../run-references.decide.ts';
import type { ReferenceViews } from '../run-views.ts';

/** A stored run. */
export interface RunDocument extends Omit<StoredRun, 'run_id'> {
  readonly _id: string;
}

/**
 * Replaces a document unless one of its heads is later. When one is, MongoDB tries to insert a second document with the
 * same id, and refuses it.
 */
export const guardedWrite = (view: StoredView): AnyBulkWriteOperation<RunDocument> => {
  const { _id: id, ...replacement } = documentOf(view);
  const { org_id, head, webhook_head } = replacement;
  const filter = { _id: id, org_id, head: { $lte: head }, webhook_head: { $lte: webhook_head } };
  return { replaceOne: { filter, replacement, upsert: true } };
};

/**
 * Does guarded writes. A refused one is tried once more: it is stale, or another gateway inserted an earlier view after this one had
 * found none, and the second try finds that.
 */
export const writeGuarded = async (
  runs: Pick<Collection<RunDocument>, 'bulkWrite'>,
  writes: readonly AnyBulkWriteOperation<RunDocument>[],
): Promise<void> => {
  const refusedOf = (tried: readonly AnyBulkWriteOperation<RunDocument>[]): Promise<readonly number[]> =>
    refusedAsDuplicates(() => runs.bulkWrite([...tried], { ordered: false }));
  const refused = new Set(await refusedOf(writes));
  if (refused.size > 0) await refusedOf(writes.filter((_, index) => refused.has(index)));
};

/** Only what was read is removed: a later view of the run stays. */
export const guardedRemoval = ({ head, run, webhook }: StoredView): AnyBulkWriteOperation<RunDocument> => {
  const { run_id, org_id } = run;
  return { deleteOne: { filter: { _id: run_id, org_id, head, webhook_head: webhook.head } } };
};

export const documentOf = (view: StoredView): RunDocument => {
  const { run_id, ...stored } = storedRun(view);
  return { _id: run_id, ...stored };
};

export const storedRunOf = ({ _id, ...stored }: RunDocument): StoredRun => ({ ...stored, run_id: _id });

export const NEWEST_FIRST = { sort_key: -1 } as const;
export const OLDEST_FIRST = { sort_key: 1 } as const;

export const indexOf = (field: FilterField): { readonly [name: string]: 1 | -1 } => ({
  org_id: 1,
  [field]: 1,
  ...NEWEST_FIRST,
});

/** The whole list of an organisation. */
export const LIST_INDEX = { org_id: 1, ...NEWEST_FIRST } as const;

/** Of one organisation, by the beginning of an id. */
export const ID_INDEX = { org_id: 1, _id: 1, ...NEWEST_FIRST } as const;

/** For runs of all organisations. */
export const STATUS_INDEX = { status: 1, sort_key: 1 } as const;

/** Of all organisations, without the many that are settled. */
export const UNSETTLED_INDEX = {
  key: { unsettled: 1, sort_key: 1 },
  partialFilterExpression: { unsettled: { $gt: 0 } },
} as const;

export const createIndexes = async (runs: Collection<RunDocument>): Promise<void> => {
  await runs.createIndexes([
    { key: LIST_INDEX },
    { key: ID_INDEX },
    ...FILTERS.map((filter) => ({ key: indexOf(filter) })),
    { key: STATUS_INDEX },
    UNSETTLED_INDEX,
    FILES_INDEX,
    ENDED_INDEX,
    ...REFERENCE_INDEXES,
    ERASE_INDEX,
    DELETED_INDEX,
  ]);
};

/** The sum of their bytes is read from this index alone. Runs without files are not in it. */
export const FILES_INDEX = {
  key: { org_id: 1, updated_at: 1, output_bytes: 1 },
  partialFilterExpression: { output_bytes: { $gt: 0 } },
} as const;

/** What runs did that have ended is read from this index alone. */
export const ENDED_INDEX = {
  key: { org_id: 1, ended_ms: 1, created_ms: 1, started_ms: 1, status: 1 },
  partialFilterExpression: { ended_ms: { $gt: 0 } },
} as const;

/** Of all organisations, without the many that have nothing to erase. */
export const ERASE_INDEX = {
  key: { to_erase: 1, _id: 1 },
  partialFilterExpression: { to_erase: { $gt: 0 } },
} as const;

/** Of all organisations, only runs that were deleted. */
export const DELETED_INDEX = {
  key: { to_erase: 1, updated_at: 1 },
  partialFilterExpression: { status: 'deleted' },
} as const;

type BlobField = (typeof BLOB_FIELDS)[number];

/** Each query repeats the condition of its index, by which the server knows that the index has all that it asks for. */
const IS_SET = { $gt: '' } as const;

/** The sum is read from these indexes alone. Runs that refer to nothing are in none of them. */
const REFERENCE_INDEXES = [
  ...BLOB_FIELDS.map((field) => ({
    key: { org_id: 1, [field]: 1, [bytesField(field)]: 1 } as const,
    partialFilterExpression: { [field]: IS_SET },
  })),
  ...LIVE_FIELDS.map((field) => ({
    key: { org_id: 1, [field]: 1 } as const,
    partialFilterExpression: { [field]: IS_SET },
  })),
];

/** What runs refer to. */
export const readReferences = (
  runs: Collection<RunDocument>,
  { readWithinMs, writeWithinMs }: { readonly readWithinMs: number; readonly writeWithinMs: number },
): ReferenceViews => {
  const reading = { maxTimeMS: readWithinMs };
  const sumOf = async (org_id: OrgId, field: BlobField): Promise<number> => {
    const stages = [
      { $match: { org_id, [field]: IS_SET } },
      { $group: { _id: `$${field}`, bytes: { $first: `$${bytesField(field)}` } } },
      { $group: { _id: null, bytes: { $sum: '$bytes' } } },
    ];
    const [sum] = await runs.aggregate<{ readonly bytes: number }>(stages, reading).toArray();
    return sum?.bytes ?? 0;
  };
  const referred = async (
    org_id: OrgId,
    field: BlobField | LiveField,
    hashes: readonly string[],
  ): Promise<string[]> => {
    const found = await runs.distinct(
      field,
      { org_id, [field]: { $in: [...hashes], ...IS_SET } },
      { maxTimeMS: writeWithinMs },
    );
    return found.map(String);
  };
  return {
    // Inputs are objects, lists of outputs are arrays, logs are compressed: no blob is two of them.
    sumBlobBytes: (org_id) =>
      orUnavailable('adding up the bytes of blobs', readWithinMs, async () => {
        const sums = await Promise.all(BLOB_FIELDS.map((field) => sumOf(org_id, field)));
        return sums.reduce((all, sum) => all + sum, 0);
      }),
    referredBlobs: (org_id, stream, hashes) =>
      orUnavailable('looking for references to blobs', writeWithinMs, async () => {
        const found = await Promise.all(REFERRING[stream].map((field) => referred(org_id, field, hashes)));
        return new Set(found.flat());
      }),
    findLiveRun: (org_id, record) =>
      orUnavailable('looking for runs that have not ended', readWithinMs, async () => {
        const field = liveFieldOf(record);
        const live = { org_id, [field]: { $eq: record.id, ...IS_SET } };
        const { _id: id } = (await runs.findOne(live, { ...reading, projection: { _id: 1 } })) ?? {};
        return id === undefined ? undefined : runId(id);
      }),
  };
};
