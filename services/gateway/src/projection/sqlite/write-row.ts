import type { DatabaseSync } from 'node:sqlite';
import type { StoredRun } from '../core/stored-run.ts';
import { COLUMNS, type Column } from './schema.ts';

/** What the first fact of a run says, which its sort key names: it stays as it is until the run is deleted. */
const OF_FIRST_FACT: ReadonlySet<Column> = new Set([
  'run_id',
  'org_id',
  'sort_key',
  'number',
  'created_at',
  'created_ms',
  'deployment_id',
  'workflow_id',
  'origin',
  'webhook_host',
  'webhook_url',
]);
const LATER_COLUMNS = COLUMNS.filter((column) => !OF_FIRST_FACT.has(column));

/** `new`: there was no row. `whole`: also what the first fact says. */
type Written = 'nothing' | 'later_columns' | 'whole' | 'new';

/**
 * Writes a row unless the stored one has a later head, and says what it wrote. A run is written for several of its facts, and
 * most of the indexes have only what the first fact says: without that, a later write leaves them alone. `isKnown`: there is a row,
 * for certain.
 */
export const rowWriter = (database: DatabaseSync): ((stored: StoredRun, isKnown: boolean) => Written) => {
  // A row whose head is 0 may be of another log, or of an earlier release: it is written as a whole.
  const update = database.prepare(
    `UPDATE run_views SET ${LATER_COLUMNS.map((column) => `${column} = ?`).join(', ')}
     WHERE run_id = ? AND org_id = ? AND sort_key = ? AND head > 0 AND head <= ? AND webhook_head <= ?`,
  );
  const values = `(${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`;
  const insert = database.prepare(`INSERT INTO run_views ${values} ON CONFLICT (run_id) DO NOTHING`);
  const changes = COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ');
  const upsert = database.prepare(
    `INSERT INTO run_views ${values} ON CONFLICT (run_id) DO UPDATE SET ${changes}
     WHERE org_id = excluded.org_id AND head <= excluded.head AND webhook_head <= excluded.webhook_head`,
  );
  const updates = (stored: StoredRun): boolean => {
    const { run_id, org_id, sort_key, head, webhook_head } = stored;
    const later = LATER_COLUMNS.map((column) => stored[column]);
    return update.run(...later, run_id, org_id, sort_key, head, webhook_head).changes !== 0;
  };
  return (stored, isKnown) => {
    const all = COLUMNS.map((column) => stored[column]);
    if (!isKnown && insert.run(...all).changes !== 0) return 'new';
    if (updates(stored)) return 'later_columns';
    return upsert.run(...all).changes === 0 ? 'nothing' : 'whole';
  };
};
