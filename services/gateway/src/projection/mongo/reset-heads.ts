import type { Collection, Filter } from 'mongodb';
import { sortKeyOfDocument, type RunDocument } from './run-documents.ts';

const PIECE = 1_000;
const READ = { head: 1, webhook_head: 1, place: 1, created_at: 1, number: 1 } as const;
type Step = <Result>(work: () => Promise<Result>) => Promise<Result>;
type Read = Pick<RunDocument, '_id' | keyof typeof READ>;

/**
 * The heads of all views go back to 0, and those of an earlier release get a place: what the log no longer holds is never
 * written again. Piece by piece in the order of the ids, so that no step takes longer the more views there are, and
 * whoever begins again only reads what was done before. `step` bounds each of them.
 */
export const resetViewHeads = async (runs: Collection<RunDocument>, step: Step): Promise<void> => {
  for (let behind: Filter<RunDocument> = {}; ;) {
    const read = runs.find(behind, { projection: READ }).sort({ _id: 1 }).limit(PIECE);
    const piece: Read[] = await step(() => read.toArray());
    const [first, last] = [piece[0], piece.at(-1)];
    if (!first || !last) return;
    await step(() => givePlaces(runs, piece));
    if (piece.some(isAhead)) await step(() => resetHeads(runs, { $gte: idOf(first), $lte: idOf(last) }));
    behind = { _id: { $gt: idOf(last) } };
  }
};

const idOf = ({ _id: id }: Read): string => id;

const isAhead = ({ head, webhook_head }: Read): boolean => head !== 0 || webhook_head !== 0;

/** By the range of their ids: a list of them is slow on some servers. */
const resetHeads = async (
  runs: Collection<RunDocument>,
  ids: { readonly $gte: string; readonly $lte: string },
): Promise<void> => {
  const ahead = [{ head: { $ne: 0 } }, { webhook_head: { $ne: 0 } }];
  await runs.updateMany({ _id: ids, $or: ahead }, { $set: { head: 0, webhook_head: 0 } });
};

const givePlaces = async (runs: Collection<RunDocument>, piece: readonly Read[]): Promise<void> => {
  const updates = piece
    .filter(({ place }) => place === undefined)
    .map((document) => ({
      updateOne: {
        filter: { _id: idOf(document), place: { $exists: false } },
        update: { $set: { place: sortKeyOfDocument(document) } },
      },
    }));
  if (updates.length > 0) await runs.bulkWrite(updates, { ordered: false });
};
