import type { DatabaseSync } from 'node:sqlite';
import type { ProjectionPosition } from '../core/projection-start.ts';

const POSITION = 'run_views';

export interface StoredPosition {
  readonly read: () => ProjectionPosition | undefined;
  readonly move: (from: ProjectionPosition, to: ProjectionPosition) => boolean;
  readonly reset: (beginning: ProjectionPosition) => void;
}

export const storedPosition = (database: DatabaseSync): StoredPosition => {
  const read = database.prepare(
    'SELECT stream_created, derivation, derived_from, sequence, event_id, counts, missed FROM projection WHERE name = ?',
  );
  const move = database.prepare(
    `UPDATE projection SET stream_created = ?, derivation = ?, sequence = ?, event_id = ?, derived_from = ?, counts = ?,
       missed = ?
     WHERE name = ? AND stream_created = ? AND derivation = ? AND sequence = ? AND event_id IS ?`,
  );
  const replace = database.prepare('INSERT OR REPLACE INTO projection VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
  return {
    read: () => {
      const row = read.get(POSITION);
      if (!row) return undefined;
      const [counts, missed] = [String(row['counts']), String(row['missed'])].map((text) => JSON.parse(text));
      return { ...row, counts, missed } as unknown as ProjectionPosition;
    },
    move: (from, to) => {
      const { changes } = move.run(...placeOf(to), ...restOf(to), POSITION, ...placeOf(from));
      return changes === 1;
    },
    reset: (beginning) => {
      replace.run(POSITION, ...placeOf(beginning), ...restOf(beginning));
    },
  };
};

const placeOf = ({ stream_created, derivation, sequence, event_id }: ProjectionPosition) =>
  [stream_created, derivation, sequence, event_id] as const;

const restOf = ({ derived_from, counts, missed }: ProjectionPosition) =>
  [derived_from, JSON.stringify(counts), JSON.stringify(missed)] as const;
