import type { Collection } from 'mongodb';
import type { ByIdQuery, FilesQuery } from '../core/list-query.ts';
import { FINAL_STATUSES, type StoredView } from '../core/run-view.ts';
import { VIEW_FIELDS, viewOf } from '../core/stored-run.ts';
import type { RunDocument } from './run-documents.ts';
import { DELETED_INDEX, ERASE_INDEX, FILES_INDEX } from './run-indexes.ts';

const VIEW_PROJECTION = Object.fromEntries(VIEW_FIELDS.map((field) => [field, 1]));

// Each query repeats the condition of its index, by which the server knows that the index has all that it asks for.

export const viewsToErase = async (
  runs: Collection<RunDocument>,
  { after, limit }: ByIdQuery,
): Promise<StoredView[]> => {
  const found = runs.find({ to_erase: { $gt: 0 }, _id: { $gt: after } }, { hint: ERASE_INDEX.key });
  return (await found.sort({ _id: 1 }).limit(limit).toArray()).map(viewOf);
};

export const allViews = async (
  runs: Collection<RunDocument>,
  { after, limit }: ByIdQuery,
): Promise<StoredView[]> => {
  const found = runs.find({ _id: { $gt: after } }, { projection: VIEW_PROJECTION });
  return (await found.sort({ _id: 1 }).limit(limit).toArray()).map(viewOf);
};

export const erasedViews = async (runs: Collection<RunDocument>, limit: number): Promise<StoredView[]> => {
  const found = runs.find({ status: 'deleted', to_erase: 0 }, { hint: DELETED_INDEX.key });
  return (await found.sort({ updated_at: 1 }).limit(limit).toArray()).map(viewOf);
};

export const viewsWithFiles = async (
  runs: Collection<RunDocument>,
  { org_id, endedBefore, limit }: FilesQuery,
): Promise<StoredView[]> => {
  const ended = { status: { $in: [...FINAL_STATUSES] }, updated_at: { $lt: endedBefore.toISOString() } };
  const found = runs.find({ org_id, output_bytes: { $gt: 0 }, ...ended }, { hint: FILES_INDEX.key });
  return (await found.sort({ updated_at: 1 }).limit(limit).toArray()).map(viewOf);
};
