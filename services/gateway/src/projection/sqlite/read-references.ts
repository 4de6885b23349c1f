import type { DatabaseSync } from 'node:sqlite';
import type { BlobStream } from '@runledger/contracts/blobs';
import { runId } from '@runledger/contracts/ids';
import { LIVE_FIELDS, liveFieldOf, type LiveField } from '../core/run-references.ts';
import type { RunViews } from '../run-views.ts';
import { orUnavailable } from './open-database.ts';
import { IS_LIVE, LIVE_INDEX } from './schema.ts';

/** What runs refer to. */
export const readReferences = (
  database: DatabaseSync,
): Pick<RunViews, 'sumBlobBytes' | 'referredBlobs' | 'findLiveRun'> => {
  const sum = database.prepare('SELECT bytes FROM blob_bytes WHERE org_id = ?');
  const live = Object.fromEntries(
    LIVE_FIELDS.map((field) => [
      field,
      database.prepare(
        `SELECT run_id FROM run_views INDEXED BY ${LIVE_INDEX} WHERE org_id = ? AND ${IS_LIVE} AND ${field} = ? LIMIT 1`,
      ),
    ]),
  ) as Record<LiveField, ReturnType<DatabaseSync['prepare']>>;
  const referring: Record<BlobStream, ReturnType<DatabaseSync['prepare']>> = {
    BLOBS: database.prepare('SELECT 1 FROM run_blobs WHERE org_id = ? AND sha256 = ?'),
    WORKFLOWS: live.live_workflow_sha256,
  };
  return {
    sumBlobBytes: async (orgId) =>
      orUnavailable('adding up the bytes of blobs', () => Number(sum.get(orgId)?.['bytes'] ?? 0)),
    referredBlobs: async (orgId, stream, hashes) =>
      orUnavailable(
        'looking for references to blobs',
        () => new Set(hashes.filter((sha256) => referring[stream].get(orgId, sha256) !== undefined)),
      ),
    findLiveRun: async (orgId, record) =>
      orUnavailable('looking for runs that have not ended', () => {
        const found = live[liveFieldOf(record)].get(orgId, record.id);
        return found && runId(String(found['run_id']));
      }),
  };
};
