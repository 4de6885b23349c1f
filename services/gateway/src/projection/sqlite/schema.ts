import { FILTERS, type FilterField } from '../core/list-query.ts';
import type { StoredRun } from '../core/stored-run.ts';

const COLUMN_TYPES = {
  run_id: 'TEXT PRIMARY KEY',
  org_id: 'TEXT NOT NULL',
  sort_key: 'TEXT NOT NULL',
  head: 'INTEGER NOT NULL',
  number: 'INTEGER NOT NULL',
  status: 'TEXT NOT NULL',
  deployment_id: 'TEXT NOT NULL',
  workflow_id: 'TEXT NOT NULL',
  gpu: 'TEXT NOT NULL',
  origin: 'TEXT NOT NULL',
  created_at: 'TEXT NOT NULL',
  updated_at: 'TEXT NOT NULL',
  webhook_head: 'INTEGER NOT NULL',
  webhook: 'TEXT',
  webhook_status: 'TEXT',
  webhook_host: 'TEXT',
  webhook_url: 'TEXT',
  // The last, since it may be large: SQLite reads a row up to the columns that it needs.
  run: 'TEXT NOT NULL',
} as const satisfies Record<keyof StoredRun, string>;

export const COLUMNS = Object.keys(COLUMN_TYPES) as (keyof StoredRun)[];

/** The index by which lists with this filter are read; without one, that of the whole list. */
export const indexOf = (field: FilterField | 'sort_key'): string => `run_views_by_${field}`;

/** Of all organisations. */
export const OPEN_INDEX = 'run_views_by_status_alone';

export const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS run_views (${COLUMNS.map((name) => `${name} ${COLUMN_TYPES[name]}`).join(', ')}) STRICT`,
  `CREATE INDEX IF NOT EXISTS ${indexOf('sort_key')} ON run_views (org_id, sort_key)`,
  ...FILTERS.map(
    (field) => `CREATE INDEX IF NOT EXISTS ${indexOf(field)} ON run_views (org_id, ${field}, sort_key)`,
  ),
  `CREATE INDEX IF NOT EXISTS ${OPEN_INDEX} ON run_views (status, sort_key)`,
  'CREATE INDEX IF NOT EXISTS run_views_by_created_at ON run_views (created_at)',
  `CREATE TABLE IF NOT EXISTS projection
     (name TEXT PRIMARY KEY, stream_created TEXT NOT NULL, sequence INTEGER NOT NULL, event_id TEXT, counts TEXT NOT NULL) STRICT`,
].join(';\n');
