import { newUuid } from '@runledger/contracts/ids';
import type { Collection } from 'mongodb';
import type { ProjectionPosition } from '../core/projection-start.ts';

/** A set of views: the collection that has them, and how far they are. */
export interface PositionDocument extends ProjectionPosition {
  readonly _id: string;
  readonly collection: string;
  /** Of the facts whose views are being written, a random id. */
  readonly batch?: string;
}

/** Without what MongoDB alone has of it. */
export const positionOf = (document: Omit<PositionDocument, '_id'>): ProjectionPosition => {
  const { collection: _, batch: __, ...position } = document;
  return position;
};

/** What a database has of one set of views. One document says where they are and how far, so both change at once. */
export interface StoredPosition {
  read(): Promise<Omit<PositionDocument, '_id'> | undefined>;
  /** Begins a batch at exactly this position, whose id a copy from before does not have. Undefined at another position. */
  claim(from: ProjectionPosition): Promise<string | undefined>;
  /** False at another position than `from`, or in another batch. `collection`: the views are in another one from then on. */
  move(
    from: ProjectionPosition,
    to: ProjectionPosition,
    change?: { readonly batch?: string; readonly collection?: string },
  ): Promise<boolean>;
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
  claim: async (from) => {
    const batch = newUuid();
    const { matchedCount } = await positions.updateOne({ _id: id, ...placeOf(from) }, { $set: { batch } });
    return matchedCount === 1 ? batch : undefined;
  },
  move: async (from, to, { batch, collection } = {}) => {
    const present = { _id: id, ...placeOf(from), ...(batch === undefined ? {} : { batch }) };
    const { matchedCount } = await positions.updateOne(present, {
      $set: { ...to, ...(collection === undefined ? {} : { collection }) },
      $unset: { batch: true },
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

const placeOf = ({ stream_created, derivation, sequence, event_id }: ProjectionPosition) => ({
  stream_created,
  derivation,
  sequence,
  event_id,
});
