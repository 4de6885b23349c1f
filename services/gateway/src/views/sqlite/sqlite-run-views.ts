import type { DatabaseSync } from 'node:sqlite';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { BlobStream } from '@runledger/contracts/blobs';
import { runId } from '@runledger/contracts/ids';
import { eachCall, type ReferenceViews, type RunViews, type StoredSet } from '../run-views.ts';
import type { StoredView } from '../run-view.ts';
import { readLists } from '../read-lists.ts';
import {
  LIVE_FIELDS,
  liveFieldOf,
  type LiveField,
  VIEW_FIELDS,
  VIEW_VERSION,
  viewOf,
  type StoredFolds,
} from '../stored-run.decide.ts';
import { deferWrites } from './deferred-writes.ts';
import { recentViews, type RecentViews, writeViews } from './write-views.ts';
import { openDatabase, unavailable, IS_LIVE, LIVE_INDEX } from './database.ts';
import { sqliteReader } from './sqlite-reader.ts';

export interface SqliteSettings {
  /** Of the file, or `:memory:`. */
  readonly path: string;
  /** `VIEW_VERSION`, but in tests. */
  readonly version?: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** The longest search for one page of a list. Other requests wait meanwhile. */
const SEARCH_FOR_MS = 50;
/** The same for what is looked for in many runs. Each piece of it takes a few milliseconds, and others go on between two of them. */
const LOOK_FOR_MS = 250;

/** They find in memory what the file does not have yet. */
const FROM_MEMORY: ReadonlySet<string> = new Set([
  'find',
  'load',
  'position',
  'advance',
] satisfies (keyof StoredSet)[]);

/**
 * Views in a file of one gateway. Each call is done before it returns: a call takes microseconds, and a list with several
 * filters reads in pieces. What the projection stores is written a moment later, and before anything else reads or writes the file; a
 * view, and the position, are found in memory meanwhile. @throws {ViewsUnavailable} when the file cannot be used
 */
export const openSqliteRunViews = ({
  path,
  clock,
  version = VIEW_VERSION,
}: SqliteSettings): RunViews & Disposable & AsyncDisposable => {
  const database = openDatabase(path, version);
  const recent = recentViews();
  const written = writeViews(database, recent);
  const deferred = deferWrites({ ...written, find: findWrittenView(database, recent) });
  let move = Promise.withResolvers<void>();
  const close = (): void => {
    try {
      deferred[Symbol.dispose]();
    } finally {
      database.close();
    }
  };
  const limits = { giveUpAfterMs: SEARCH_FOR_MS, giveUpSearchAfterMs: LOOK_FOR_MS, clock };
  const views: StoredSet = {
    ...readLists(sqliteReader(database), limits),
    ...readReferences(database),
    find: async (key) => deferred.find(key),
    load: async (keys) => keys.map(deferred.find).filter((view) => view !== undefined),
    save: async (saved) => written.save(saved),
    remove: async (removed) => written.remove(removed),
    position: async () => deferred.position(),
    advance: async (advanced, from, to) => {
      const isMoved = deferred.advance(advanced, from, to);
      if (isMoved) {
        move.resolve();
        move = Promise.withResolvers();
      }
      return isMoved;
    },
    resetTo: async (beginning) => {
      await written.resetTo(beginning);
      deferred.forgetPosition();
    },
  };
  return {
    shared: false,
    ...eachCall(async (use, name, what) => {
      try {
        if (!FROM_MEMORY.has(name)) deferred.flush();
        return await use(views);
      } catch (error) {
        throw unavailable(what, error);
      }
    }),
    moved: () => move.promise,
    [Symbol.dispose]: close,
    [Symbol.asyncDispose]: async () => close(),
  };
};

/** A view as the file has it. */
const findWrittenView = (
  database: DatabaseSync,
  recent: RecentViews,
): ((key: RunKey) => StoredView | undefined) => {
  const one = database.prepare(
    `SELECT ${VIEW_FIELDS.join(', ')} FROM run_views WHERE run_id = ? AND org_id = ?`,
  );
  const readRow = (key: RunKey): StoredView | undefined => {
    const row = one.get(key.run_id, key.org_id) as unknown as StoredFolds | undefined;
    if (!row) {
      recent.setAbsent(key);
      return undefined;
    }
    const view = viewOf(row);
    recent.set(view, row.run.length + (row.webhook?.length ?? 0));
    return view;
  };
  return (key) => {
    const known = recent.get(key);
    return known === undefined ? readRow(key) : (known ?? undefined);
  };
};

/** What runs refer to. */
const readReferences = (database: DatabaseSync): ReferenceViews => {
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
    sumBlobBytes: async (orgId) => Number(sum.get(orgId)?.['bytes'] ?? 0),
    referredBlobs: async (orgId, stream, hashes) =>
      new Set(hashes.filter((sha256) => referring[stream].get(orgId, sha256) !== undefined)),
    findLiveRun: async (orgId, record) => {
      const found = live[liveFieldOf(record)].get(orgId, record.id);
      return found && runId(String(found['run_id']));
    },
  };
};
