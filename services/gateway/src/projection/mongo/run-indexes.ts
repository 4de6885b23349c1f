import type { Collection } from 'mongodb';
import type { RunDocument } from './run-documents.ts';
import { REFERENCE_INDEXES } from './run-references.ts';
import { FILTERS, type FilterField } from '../core/list-query.ts';

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
