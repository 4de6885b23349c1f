import type { DatabaseSync } from 'node:sqlite';
import type { StoredRun } from '../../core/stored-run.ts';

/** A run has several tags, so they are rows of their own, in the order of the list. */
export const TAGS_SCHEMA: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS run_tags
     (org_id TEXT NOT NULL, tag TEXT NOT NULL, sort_key TEXT NOT NULL, run_id TEXT NOT NULL,
      PRIMARY KEY (org_id, tag, sort_key)) STRICT, WITHOUT ROWID`,
  'CREATE INDEX IF NOT EXISTS run_tags_by_run ON run_tags (run_id)',
];

export interface RunTags {
  /** In the transaction that writes the whole view: later facts change no tags. */
  readonly set: (stored: StoredRun) => void;
  readonly remove: (run_id: string) => void;
}

export const openRunTags = (database: DatabaseSync): RunTags => {
  const removeAll = database.prepare('DELETE FROM run_tags WHERE run_id = ?');
  const insert = database.prepare('INSERT INTO run_tags (org_id, tag, sort_key, run_id) VALUES (?, ?, ?, ?)');
  const remove = (run_id: string): void => void removeAll.run(run_id);
  return {
    set: ({ run_id, org_id, sort_key, tags }) => {
      remove(run_id);
      for (const tag of tags ?? []) insert.run(org_id, tag, sort_key, run_id);
    },
    remove,
  };
};
