import type { DatabaseSync } from 'node:sqlite';
import type { StoredRun } from '../../core/stored-run.ts';

const ofOld = 'org_id = old.org_id AND sort_key = old.sort_key';

/**
 * What a search looks at, in the order of the list: it reads these rows one behind the other, and no others. A row goes with the sort key
 * of its run.
 */
export const TEXTS_SCHEMA: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS run_texts
     (org_id TEXT NOT NULL, sort_key TEXT NOT NULL, deployment_id TEXT, text TEXT NOT NULL,
      PRIMARY KEY (org_id, sort_key)) STRICT, WITHOUT ROWID`,
  `CREATE TRIGGER IF NOT EXISTS text_moved AFTER UPDATE OF sort_key ON run_views
     WHEN old.sort_key IS NOT NULL AND old.sort_key IS NOT new.sort_key BEGIN DELETE FROM run_texts WHERE ${ofOld}; END`,
  `CREATE TRIGGER IF NOT EXISTS text_removed AFTER DELETE ON run_views
     WHEN old.sort_key IS NOT NULL BEGIN DELETE FROM run_texts WHERE ${ofOld}; END`,
];

export interface RunTexts {
  /** In the transaction that writes the view, after it. Of the later facts only the end of a run changes its text. */
  readonly set: (stored: StoredRun) => void;
}

export const openRunTexts = (database: DatabaseSync): RunTexts => {
  const save = database.prepare(
    `INSERT INTO run_texts (org_id, sort_key, deployment_id, text) VALUES (?, ?, ?, ?)
     ON CONFLICT (org_id, sort_key) DO UPDATE SET deployment_id = excluded.deployment_id, text = excluded.text
     WHERE text <> excluded.text OR deployment_id IS NOT excluded.deployment_id`,
  );
  return {
    set: ({ org_id, sort_key, deployment_id, search_text }) => {
      if (sort_key !== null) save.run(org_id, sort_key, deployment_id, search_text);
    },
  };
};
