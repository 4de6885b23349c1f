import { FILTERS, type FilterField } from '../core/list-query.ts';
import type { StoredRun } from '../core/stored-run.ts';
import { REFERENCES_SCHEMA } from './references-schema.ts';

const COLUMN_TYPES = {
  run_id: 'TEXT PRIMARY KEY',
  org_id: 'TEXT NOT NULL',
  sort_key: 'TEXT',
  head: 'INTEGER NOT NULL',
  number: 'INTEGER NOT NULL',
  status: 'TEXT NOT NULL',
  deployment_id: 'TEXT',
  workflow_id: 'TEXT',
  gpu: 'TEXT',
  origin: 'TEXT',
  created_at: 'TEXT NOT NULL',
  updated_at: 'TEXT NOT NULL',
  output_bytes: 'INTEGER NOT NULL',
  unsettled: 'INTEGER NOT NULL',
  to_erase: 'INTEGER NOT NULL',
  inputs_blob: 'TEXT',
  inputs_blob_bytes: 'INTEGER NOT NULL',
  outputs_blob: 'TEXT',
  outputs_blob_bytes: 'INTEGER NOT NULL',
  live_workflow_sha256: 'TEXT',
  live_workflow_version_id: 'TEXT',
  live_deployment_id: 'TEXT',
  live_machine_id: 'TEXT',
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
export const STATUS_INDEX = 'run_views_by_status_alone';

/** Of all organisations, without the many that are settled. */
export const UNSETTLED_INDEX = 'run_views_unsettled';

/** Without the many runs that have no files. */
export const FILES_INDEX = 'run_views_with_files';

/** Of all organisations, without the many that have nothing to erase. */
export const ERASE_INDEX = 'run_views_to_erase';

/** Adds to the day of the row `new`, or subtracts from that of `old`. SQLite keeps the sums with each change of a view. */
const changeSum = (row: 'new' | 'old', sign: '+' | '-'): string =>
  `INSERT INTO output_bytes VALUES (${row}.org_id, ${dayOf(`${row}.updated_at`)}, ${sign}${row}.output_bytes)
     ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes`;
const dayOf = (time: string): string => `substr(${time}, 1, 10)`;
const dropEmptySum = `DELETE FROM output_bytes WHERE org_id = old.org_id AND day = ${dayOf('old.updated_at')} AND bytes = 0`;

/** Sums of output bytes by organisation and day: the sum over a million runs would take too long. */
const SUMS = [
  `CREATE TABLE IF NOT EXISTS output_bytes
     (org_id TEXT NOT NULL, day TEXT NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (org_id, day)) STRICT, WITHOUT ROWID`,
  `CREATE TRIGGER IF NOT EXISTS output_bytes_of_new AFTER INSERT ON run_views WHEN new.output_bytes > 0
     BEGIN ${changeSum('new', '+')}; END`,
  `CREATE TRIGGER IF NOT EXISTS output_bytes_of_changed AFTER UPDATE OF output_bytes, updated_at ON run_views
     WHEN old.output_bytes > 0 OR new.output_bytes > 0
     BEGIN ${changeSum('old', '-')}; ${changeSum('new', '+')}; ${dropEmptySum}; END`,
  `CREATE TRIGGER IF NOT EXISTS output_bytes_of_old AFTER DELETE ON run_views WHEN old.output_bytes > 0
     BEGIN ${changeSum('old', '-')}; ${dropEmptySum}; END`,
];

export const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS run_views (${COLUMNS.map((name) => `${name} ${COLUMN_TYPES[name]}`).join(', ')}) STRICT`,
  `CREATE INDEX IF NOT EXISTS ${indexOf('sort_key')} ON run_views (org_id, sort_key)`,
  ...FILTERS.map(
    (field) => `CREATE INDEX IF NOT EXISTS ${indexOf(field)} ON run_views (org_id, ${field}, sort_key)`,
  ),
  `CREATE INDEX IF NOT EXISTS ${STATUS_INDEX} ON run_views (status, sort_key)`,
  `CREATE INDEX IF NOT EXISTS ${UNSETTLED_INDEX} ON run_views (sort_key) WHERE unsettled > 0`,
  `CREATE INDEX IF NOT EXISTS ${FILES_INDEX} ON run_views (org_id, updated_at) WHERE output_bytes > 0`,
  `CREATE INDEX IF NOT EXISTS ${ERASE_INDEX} ON run_views (run_id) WHERE to_erase > 0`,
  ...SUMS,
  ...REFERENCES_SCHEMA,
  `CREATE TABLE IF NOT EXISTS projection
     (name TEXT PRIMARY KEY, stream_created TEXT NOT NULL, derivation INTEGER NOT NULL, sequence INTEGER NOT NULL,
      event_id TEXT, derived_from TEXT NOT NULL, counts TEXT NOT NULL) STRICT`,
].join(';\n');
