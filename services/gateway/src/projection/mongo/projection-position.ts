import type { Collection } from 'mongodb';
import type { ProjectionPosition } from '../core/projection-start.ts';

/** A set of views: the collection that has them, and how far they are. */
export interface PositionDocument extends ProjectionPosition {
  readonly _id: string;
  readonly collection: string;
}

/** Without what MongoDB alone has of it. */
export const positionOf = (document: Omit<PositionDocument, '_id'>): ProjectionPosition => {
  const { collection: _, ...position } = document;
  return position;
};

/** What a database has of one set of views. One document says where they are and how far, so both change at once. */
export interface StoredPosition {
  read(): Promise<Omit<PositionDocument, '_id'> | undefined>;
  /** `collection`: the views are in another one from then on. */
  move(from: ProjectionPosition, to: ProjectionPosition, collection?: string): Promise<boolean>;
  reset(beginning: ProjectionPosition, collection: string): Promise<void>;
  /** False when there is one. */
  add(position: ProjectionPosition, collection: string): Promise<boolean>;
  remove(): Promise<void>;
}

export const storedPosition = (positions: Collection<PositionDocument>, id: string): StoredPosition => ({
  read: async () => {
    const document = await positions.findOne({ _id: id });
    if (!document) return undefined;
    const { _id, ...position } = document;
    return position;
  },
  move: async ({ stream_created, derivation, sequence, event_id }, to, collection) => {
    const from = { _id: id, stream_created, derivation, sequence, event_id } as const;
    const { matchedCount } = await positions.updateOne(from, {
      $set: { ...to, ...(collection === undefined ? {} : { collection }) },
    });
    return matchedCount === 1;
  },
  reset: async (beginning, collection) => {
    await positions.replaceOne({ _id: id }, { ...beginning, collection }, { upsert: true });
  },
  add: async (position, collection) => {
    const added = { $setOnInsert: { ...position, collection } };
    const { upsertedCount } = await positions.updateOne({ _id: id }, added, { upsert: true });
    return upsertedCount === 1;
  },
  remove: async () => {
    await positions.deleteOne({ _id: id });
  },
});
