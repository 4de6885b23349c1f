import type { Db } from 'mongodb';
import type { ProjectionPosition } from '../core/projection-start.ts';

const POSITION = 'run_views';

interface PositionDocument extends ProjectionPosition {
  readonly _id: typeof POSITION;
}

export interface StoredPosition {
  read(): Promise<ProjectionPosition | undefined>;
  move(from: ProjectionPosition, to: ProjectionPosition): Promise<boolean>;
  reset(beginning: ProjectionPosition): Promise<void>;
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
    move: async ({ stream_created, derivation, sequence, event_id }, to) => {
      const from = { _id: POSITION, stream_created, derivation, sequence, event_id } as const;
      const { matchedCount } = await positions.updateOne(from, { $set: to });
      return matchedCount === 1;
    },
    reset: async (beginning) => {
      await positions.replaceOne({ _id: POSITION }, beginning, { upsert: true });
    },
  };
};
