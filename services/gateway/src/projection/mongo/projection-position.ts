import type { Db } from 'mongodb';
import type { ProjectionPosition } from '../core/projection-start.ts';
import { ignoringStale } from './mongo-errors.ts';

const POSITION = 'run_views';

interface PositionDocument extends ProjectionPosition {
  readonly _id: typeof POSITION;
}

export interface StoredPosition {
  read(): Promise<ProjectionPosition | undefined>;
  save(position: ProjectionPosition): Promise<void>;
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
    save: async (position) => {
      const { stream_created, sequence } = position;
      await ignoringStale(() =>
        positions.updateOne(
          { _id: POSITION, stream_created, sequence: { $lt: sequence } },
          { $set: position },
          { upsert: true },
        ),
      );
    },
    reset: async (stream_created) => {
      const beginning = { stream_created, sequence: 0, event_id: null };
      await positions.replaceOne({ _id: POSITION }, beginning, { upsert: true });
    },
  };
};
