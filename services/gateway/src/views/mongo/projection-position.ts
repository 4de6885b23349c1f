import { newUuid } from '@runledger/contracts/ids';
import type { Collection, Filter, UpdateFilter, UpdateOptions } from 'mongodb';
import type { ProjectionPosition } from '../projection-start.decide.ts';

/** A set of views: the collection that has them, and how far they are. */
interface SetPosition extends ProjectionPosition {
  readonly collection: string;
  /** Of the facts whose views are being written, a random id. */
  readonly batch?: string;
}

export interface PositionDocument extends SetPosition {
  readonly _id: string;
}

/** Without what MongoDB alone has of it. */
export const positionOf = (document: SetPosition): ProjectionPosition => {
  const { collection: _, batch: __, ...position } = document;
  return position;
};

/** What a database has of one set of views. One document says where they are and how far, so both change at once. */
export interface StoredPosition {
  read(): Promise<SetPosition | undefined>;
  /** Begins a batch at exactly this position, whose id a copy from before does not have. Undefined at another position. */
  claim(from: ProjectionPosition): Promise<string | undefined>;
  /** False at another position than `from`, or when another batch than this one has begun there since. */
  move(from: ProjectionPosition, to: ProjectionPosition, batch?: string): Promise<boolean>;
  /** The same, and the views are in this collection from then on. */
  moveInto(collection: string, from: ProjectionPosition, to: ProjectionPosition): Promise<boolean>;
  reset(beginning: ProjectionPosition, collection: string): Promise<void>;
  /** False when there is one. */
  add(position: ProjectionPosition, collection: string): Promise<boolean>;
  remove(): Promise<void>;
}

/** Of a batch whose id is lost, the position does not move. */
const NOT_FLUSHED = { writeConcern: { w: 1, journal: false } } as const;

export const storedPosition = (positions: Collection<PositionDocument>, id: string): StoredPosition => {
  /** Whether the position was there, and was changed. */
  const change = async (
    present: Filter<PositionDocument>,
    update: UpdateFilter<PositionDocument>,
    options: UpdateOptions = {},
  ): Promise<boolean> =>
    (await positions.updateOne({ _id: id, ...present }, update, options)).matchedCount === 1;
  return {
    read: async () => {
      const document = await positions.findOne({ _id: id });
      if (!document) return undefined;
      const { _id, ...position } = document;
      return position;
    },
    claim: async (from) => {
      const batch = newUuid();
      return (await change(placeOf(from), { $set: { batch } }, NOT_FLUSHED)) ? batch : undefined;
    },
    move: (from, to, batch) =>
      change(batch === undefined ? placeOf(from) : { ...placeOf(from), batch }, {
        $set: to,
        $unset: { batch: true },
      }),
    moveInto: (collection, from, to) =>
      change(placeOf(from), { $set: { ...to, collection }, $unset: { batch: true } }),
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
  };
};

const placeOf = ({ stream_created, derivation, sequence, event_id }: ProjectionPosition) => ({
  stream_created,
  derivation,
  sequence,
  event_id,
});
