import type { Collection } from 'mongodb';
import type { RunDocument } from './run-documents.ts';

const PIECE = 1_000;
type Step = <Result>(work: () => Promise<Result>) => Promise<Result>;

/**
 * Sets the heads of all views back to 0, in pieces in the order of the ids, so that no step takes longer the more views
 * there are. `step` limits the time of each.
 */
export const resetViewHeads = async (runs: Collection<RunDocument>, step: Step): Promise<void> => {
  for (let after = ''; ;) {
    const read = runs.find({ _id: { $gt: after } }, { projection: { _id: 1 } });
    const ids = await step(async () => (await read.sort({ _id: 1 }).limit(PIECE).toArray()).map(idOf));
    const last = ids.at(-1);
    if (last === undefined) return;
    // A range of ids, since a list of them is slow on some servers.
    const range = { $gt: after, $lte: last };
    await step(() => runs.updateMany({ _id: range, $or: AHEAD }, { $set: { head: 0, webhook_head: 0 } }));
    after = last;
  }
};

const AHEAD = [{ head: { $ne: 0 } }, { webhook_head: { $ne: 0 } }];

const idOf = ({ _id: id }: Pick<RunDocument, '_id'>): string => id;
