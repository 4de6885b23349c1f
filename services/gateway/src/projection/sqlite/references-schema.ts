import { BLOB_FIELDS, bytesField, LIVE_FIELDS, type LiveField } from '../core/run-references.ts';

type BlobField = (typeof BLOB_FIELDS)[number];

const add = (field: BlobField): string =>
  `INSERT INTO run_blobs SELECT new.org_id, new.${field}, new.${bytesField(field)}, 1 WHERE new.${field} IS NOT NULL
     ON CONFLICT DO UPDATE SET runs = runs + 1`;
const remove = (field: BlobField): string => {
  const present = `org_id = old.org_id AND sha256 = old.${field}`;
  return `UPDATE run_blobs SET runs = runs - 1 WHERE ${present}; DELETE FROM run_blobs WHERE ${present} AND runs = 0`;
};
const counted = (field: BlobField): string[] => [
  `CREATE TRIGGER IF NOT EXISTS ${field}_of_new AFTER INSERT ON run_views WHEN new.${field} IS NOT NULL
     BEGIN ${add(field)}; END`,
  `CREATE TRIGGER IF NOT EXISTS ${field}_of_changed AFTER UPDATE OF ${field} ON run_views
     WHEN old.${field} IS NOT new.${field} BEGIN ${add(field)}; ${remove(field)}; END`,
  `CREATE TRIGGER IF NOT EXISTS ${field}_of_old AFTER DELETE ON run_views WHEN old.${field} IS NOT NULL
     BEGIN ${remove(field)}; END`,
];

/** Runs that have not ended, by what they were queued with. */
export const liveIndexOf = (field: LiveField): string => `run_views_by_${field}`;

/**
 * How many runs refer to each blob, and the bytes of all blobs of an organisation, each counted once. SQLite keeps both with
 * each change of a view: counting the runs again would take too long.
 */
export const REFERENCES_SCHEMA: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS run_blobs
     (org_id TEXT NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, runs INTEGER NOT NULL,
      PRIMARY KEY (org_id, sha256)) STRICT, WITHOUT ROWID`,
  'CREATE TABLE IF NOT EXISTS blob_bytes (org_id TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID',
  `CREATE TRIGGER IF NOT EXISTS blob_bytes_of_first AFTER INSERT ON run_blobs
     BEGIN INSERT INTO blob_bytes VALUES (new.org_id, new.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes; END`,
  `CREATE TRIGGER IF NOT EXISTS blob_bytes_of_last AFTER DELETE ON run_blobs
     BEGIN UPDATE blob_bytes SET bytes = bytes - old.bytes WHERE org_id = old.org_id;
       DELETE FROM blob_bytes WHERE org_id = old.org_id AND bytes = 0; END`,
  ...BLOB_FIELDS.flatMap(counted),
  ...LIVE_FIELDS.map(
    (field) =>
      `CREATE INDEX IF NOT EXISTS ${liveIndexOf(field)} ON run_views (org_id, ${field}) WHERE ${field} IS NOT NULL`,
  ),
];
