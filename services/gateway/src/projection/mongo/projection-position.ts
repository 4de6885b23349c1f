import type { Db } from 'mongodb';
import { beginningOf, type ProjectionPosition } from '../core/projection-start.ts';

const POSITION = 'run_views';

interface PositionDocument extends ProjectionPosition {
  readonly _id: typeof POSITION;
}

export interface StoredPosition {
  read(): Promise<ProjectionPosition | undefined>;
  move(from: ProjectionPosition, to: ProjectionPosition): Promise<boolean>;
  reset(streamCreated: string): Promise<void>;
}

export const storedPosition = (database: Db): StoredPosition => {
  const positions = database.collection<PositionDocument>('projections');
  return {
    read: async () => {
      const document = await positions.findOne({ _id: POSITION });
      if (!document) return undefined;
      const { _id, ...position } = document;
      return position;
    },
    move: async ({ stream_created, sequence, event_id }, to) => {
      const from = { _id: POSITION, stream_created, sequence, event_id } as const;
      const { matchedCount } = await positions.updateOne(from, { $set: to });
      return matchedCount === 1;
    },
    reset: async (stream_created) => {
      await positions.replaceOne({ _id: POSITION }, beginningOf(stream_created), { upsert: true });
    },
  };
};
