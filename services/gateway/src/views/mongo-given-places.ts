import type { Collection } from 'mongodb';
import { placeOfDocument, type RunDocument } from './mongo-run-documents.ts';

const BATCH = 1_000;

/** Gives a place to the documents of an earlier release: those that the log no longer holds are never written again. */
export const givePlaces = async (runs: Collection<RunDocument>, timeoutMS: number): Promise<void> => {
  const options = { projection: { created_at: 1, number: 1 }, timeoutMS, timeoutMode: 'iteration' } as const;
  let batch: Pick<RunDocument, '_id' | 'created_at' | 'number'>[] = [];
  const write = async (): Promise<void> => {
    const updates = batch.map(({ _id: id, created_at, number }) => ({
      updateOne: {
        filter: { _id: id, place: { $exists: false } },
        update: { $set: { place: placeOfDocument({ _id: id, created_at, number }) } },
      },
    }));
    batch = [];
    if (updates.length > 0) await runs.bulkWrite(updates, { ordered: false, timeoutMS });
  };
  for await (const document of runs.find({ place: { $exists: false } }, options)) {
    batch.push(document);
    if (batch.length === BATCH) await write();
  }
  await write();
};
