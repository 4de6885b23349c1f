import type { Collection } from 'mongodb';
import { runId, type OrgId } from '@runledger/contracts/ids';
import {
  BLOB_FIELDS,
  bytesField,
  LIVE_FIELDS,
  liveFieldOf,
  REFERRING,
  type LiveField,
} from '../core/run-references.ts';
import type { RunViews } from '../run-views.ts';
import { orUnavailable } from './mongo-errors.ts';
import type { RunDocument } from './run-documents.ts';

type BlobField = (typeof BLOB_FIELDS)[number];

/** Each query repeats the condition of its index, by which the server knows that the index has all that it asks for. */
const IS_SET = { $gt: '' } as const;

/** The sum is read from these indexes alone. Runs that refer to nothing are in none of them. */
export const REFERENCE_INDEXES = [
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
): Pick<RunViews, 'sumBlobBytes' | 'referredBlobs' | 'findLiveRun'> => {
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
