import type { Collection } from 'mongodb';
import type { EraseQuery } from '../core/list-query.ts';
import type { StoredView } from '../core/run-view.ts';
import { viewOf } from '../core/stored-run.ts';
import type { RunDocument } from './run-documents.ts';
import { ERASE_INDEX } from './run-indexes.ts';

/** The query repeats the condition of its index, by which the server knows that the index has all that it asks for. */
export const viewsToErase = async (
  runs: Collection<RunDocument>,
  { after, limit }: EraseQuery,
): Promise<StoredView[]> => {
  const found = runs.find({ to_erase: { $gt: 0 }, _id: { $gt: after } }, { hint: ERASE_INDEX.key });
  return (await found.sort({ _id: 1 }).limit(limit).toArray()).map(viewOf);
};
