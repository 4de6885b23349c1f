import { MongoServerError, type Collection, type Db } from 'mongodb';
import type { RunDocument } from './run-documents.ts';
import { REFERENCE_INDEXES } from './run-references.ts';
import { FILTERS, type FilterField } from '../core/list-query.ts';

export const NEWEST_FIRST = { sort_key: -1 } as const;

export const indexOf = (field: FilterField): { readonly [name: string]: 1 | -1 } => ({
  org_id: 1,
  [field]: 1,
  ...NEWEST_FIRST,
});

/** For runs of all organisations that have not ended. */
export const OPEN_INDEX = { status: 1, sort_key: 1 } as const;

/** The indexes of all lists, and the index by which the server drops runs that are older than the retention. */
export const createIndexes = async (
  database: Db,
  runs: Collection<RunDocument>,
  retentionDays: number,
): Promise<void> => {
  await runs.createIndexes([
    { key: { org_id: 1, ...NEWEST_FIRST } },
    ...FILTERS.map((filter) => ({ key: indexOf(filter) })),
    { key: OPEN_INDEX },
    OUTPUT_BYTES,
    ...REFERENCE_INDEXES,
    ERASE_INDEX,
  ]);
  await expireAfter(database, runs, retentionDays * SECONDS_PER_DAY);
};

/** The sum is read from this index alone. Runs without files are not in it. */
const OUTPUT_BYTES = {
  key: { org_id: 1, updated_at: 1, output_bytes: 1 },
  partialFilterExpression: { output_bytes: { $gt: 0 } },
} as const;

/** Of all organisations, without the many that have nothing to erase. */
export const ERASE_INDEX = {
  key: { to_erase: 1, _id: 1 },
  partialFilterExpression: { to_erase: { $gt: 0 } },
} as const;

const SECONDS_PER_DAY = 24 * 3600;
const EXPIRY = { created_at: 1 } as const;
/** The server's codes for an index that exists with another expiry. */
const OPTIONS_CONFLICT: readonly unknown[] = [85, 86];

const expireAfter = async (
  database: Db,
  runs: Collection<RunDocument>,
  expireAfterSeconds: number,
): Promise<void> => {
  try {
    await runs.createIndex(EXPIRY, { expireAfterSeconds });
  } catch (error) {
    if (!(error instanceof MongoServerError) || !OPTIONS_CONFLICT.includes(error.code)) throw error;
    const index = { keyPattern: EXPIRY, expireAfterSeconds };
    await database.command({ collMod: runs.collectionName, index });
  }
};
