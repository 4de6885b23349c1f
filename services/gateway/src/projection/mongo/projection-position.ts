import type { Db } from 'mongodb';
import { ignoringStale } from './mongo-errors.ts';
import type { ProjectionPosition } from '../run-views.ts';

const POSITION = 'run_views.3';
/**
 * Of the first release, whose views know nothing of webhooks, and of the second, whose views have no place: where there
 * is one, that release has projected since.
 */
const EARLIER_POSITIONS = ['run_views', 'run_views.2'] as const;

interface PositionDocument extends ProjectionPosition {
  readonly _id: typeof POSITION | (typeof EARLIER_POSITIONS)[number];
}

export interface StoredPosition {
  /** Undefined also where an earlier release has projected: its views are derived anew. */
  read(): Promise<ProjectionPosition | undefined>;
  save(position: ProjectionPosition): Promise<void>;
  reset(streamCreated: string): Promise<void>;
}

export const storedPosition = (database: Db): StoredPosition => {
  const positions = database.collection<PositionDocument>('projections');
  return {
    read: async () => {
      const documents = await positions.find({ _id: { $in: [POSITION, ...EARLIER_POSITIONS] } }).toArray();
      if (documents.some(({ _id }) => _id !== POSITION)) return undefined;
      const [document] = documents;
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
      await positions.deleteMany({ _id: { $in: [...EARLIER_POSITIONS] } });
    },
  };
};
