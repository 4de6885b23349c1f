import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import { runId, type OrgId } from '@runledger/contracts/ids';
import type { StoredView } from '../run-view.ts';
import {
  storedRun,
  type StoredRun,
  BLOB_FIELDS,
  bytesField,
  LIVE_FIELDS,
  liveFieldOf,
  REFERRING,
  type BlobField,
  type LiveField,
} from '../stored-run.decide.ts';
import { limited, refusedAsDuplicates, type MongoLimits } from './mongo-server.ts';
import { allIndexes } from '../stored-queries.decide.ts';
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

/** Names of members as documents have them. */
export const documentNames = <Value>(named: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(named).map(([name, value]) => [name === 'run_id' ? '_id' : name, value]));

export const createIndexes = async (runs: Collection<RunDocument>): Promise<void> => {
  await runs.createIndexes([
    ...allIndexes().map(([_name, { key, only }]) => ({
      key: documentNames(key),
      ...(only && { partialFilterExpression: only }),
    })),
    ...REFERENCE_INDEXES,
  ]);
};

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
  { readWithinMs, writeWithinMs }: MongoLimits,
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
      limited(readWithinMs, async () => {
        const sums = await Promise.all(BLOB_FIELDS.map((field) => sumOf(org_id, field)));
        return sums.reduce((all, sum) => all + sum, 0);
      }),
    referredBlobs: (org_id, stream, hashes) =>
      limited(writeWithinMs, async () => {
        const found = await Promise.all(REFERRING[stream].map((field) => referred(org_id, field, hashes)));
        return new Set(found.flat());
      }),
    findLiveRun: (org_id, record) =>
      limited(readWithinMs, async () => {
        const field = liveFieldOf(record);
        const live = { org_id, [field]: { $eq: record.id, ...IS_SET } };
        const { _id: id } = (await runs.findOne(live, { ...reading, projection: { _id: 1 } })) ?? {};
        return id === undefined ? undefined : runId(id);
      }),
  };
};
