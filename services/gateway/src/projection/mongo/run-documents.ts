import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import type { StoredView } from '../core/run-view.ts';
import { storedRun, type StoredRun } from '../core/stored-run.ts';
import { refusedAsDuplicates } from './mongo-errors.ts';

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
