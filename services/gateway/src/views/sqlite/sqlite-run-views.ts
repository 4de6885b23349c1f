import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { BlobStream } from '@runledger/contracts/blobs';
import { runId, orgId } from '@runledger/contracts/ids';
import {
  runListQuery,
  webhookListQuery,
  pageOf,
  RUN_LIST,
  WEBHOOK_LIST,
  type ListQuery,
  type Page,
  type StoredList,
  type OldestQuery,
  type Listed,
} from '../list-query.decide.ts';
import { countRuns, runActivity } from '../counts.decide.ts';
import { scanList } from '../scan-list.ts';
import { decideSearch } from '../run-search.decide.ts';
import { FINAL_STATUSES, type StoredView } from '../run-view.ts';
import { activityReader, idCounter, rowCounter, rowReader } from './read-lists.ts';
import { deferWrites } from './deferred-writes.ts';
import { recentViews, type RecentViews, writeViews } from './write-views.ts';
import { VIEW_FIELDS, VIEW_VERSION, viewOf, type StoredRun } from '../stored-run.decide.ts';
import type { ReadingViews, RunViews } from '../run-views.ts';
import {
  openDatabase,
  orUnavailable,
  DELETED_INDEX,
  ERASE_INDEX,
  FILES_INDEX,
  IS_LIVE,
  LIVE_INDEX,
  indexOf,
  STATUS_INDEX,
  UNSETTLED_INDEX,
} from './database.ts';
import { LIVE_FIELDS, liveFieldOf, type LiveField } from '../run-references.decide.ts';
import { asSortKey, sortKeysIn } from '../sort-key.decide.ts';
import type { ReferenceViews } from '../run-views.ts';

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
  const findWritten = findWrittenView(database, recent);
  const deferred = deferWrites({ ...written, find: findWritten });
  let move = Promise.withResolvers<void>();
  const close = (): void => {
    try {
      deferred[Symbol.dispose]();
    } finally {
      database.close();
    }
  };
  const find = async (key: RunKey): Promise<StoredView | undefined> => deferred.find(key);
  return {
    shared: false,
    ...whenWritten(deferred.flush, { ...readLists(database, clock), ...readReferences(database) }),
    find,
    peek: (key) => deferred.peek(key) ?? recent.get(key) ?? undefined,
    load: async (keys) => (await Promise.all(keys.map(find))).filter((view) => view !== undefined),
    position: async () => deferred.position(),
    moved: () => move.promise,
    advance: async (views, from, to) => {
      const isMoved = deferred.advance(views, from, to);
      if (isMoved) {
        move.resolve();
        move = Promise.withResolvers();
      }
      return isMoved;
    },
    save: async (views) => {
      deferred.flush();
      written.save(views);
    },
    remove: async (views) => {
      deferred.flush();
      return written.remove(views);
    },
    resetTo: async (beginning) => {
      deferred.flush();
      await written.resetTo(beginning);
      deferred.forgetPosition();
    },
    [Symbol.dispose]: close,
    [Symbol.asyncDispose]: async () => close(),
  };
};

type Reads = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

/** The same reads, of a file that has everything. */
const whenWritten = <Reading extends Reads>(flush: () => void, reads: Reading): Reading =>
  Object.fromEntries(
    Object.entries(reads).map(([name, read]) => [
      name,
      async (...args: never[]) => {
        flush();
        return read(...args);
      },
    ]),
  ) as unknown as Reading;

const readLists = (database: DatabaseSync, clock: () => number): Omit<ReadingViews, 'find' | 'load'> => {
  const queued = database.prepare(
    `SELECT count(*) AS queued FROM (SELECT 1 FROM run_views WHERE org_id = ? AND status = 'queued' LIMIT ?)`,
  );
  const toErase = database.prepare(
    `SELECT ${VIEW_FIELDS.join(', ')} FROM run_views INDEXED BY ${ERASE_INDEX}
     WHERE to_erase > 0 AND run_id > ? ORDER BY run_id LIMIT ?`,
  );
  const all = database.prepare(
    `SELECT ${VIEW_FIELDS.join(', ')} FROM run_views WHERE run_id > ? ORDER BY run_id LIMIT ?`,
  );
  const erased = database.prepare(
    `SELECT ${VIEW_FIELDS.join(', ')} FROM run_views INDEXED BY ${DELETED_INDEX}
     WHERE status = 'deleted' AND to_erase = 0 ORDER BY updated_at LIMIT ?`,
  );
  const withFiles = database.prepare(
    `SELECT ${VIEW_FIELDS.join(', ')} FROM run_views INDEXED BY ${FILES_INDEX}
     WHERE org_id = ? AND output_bytes > 0 AND updated_at < ? AND status IN (${FINAL_STATUSES.map(() => '?').join(', ')})
     ORDER BY updated_at LIMIT ?`,
  );
  const outputBytes = database.prepare(
    'SELECT total(bytes) AS bytes FROM output_bytes WHERE org_id = ? AND day >= ?',
  );
  const limits = { giveUpAfterMs: SEARCH_FOR_MS, giveUpSearchAfterMs: LOOK_FOR_MS, clock };
  const list = <Item>(shown: StoredList<Item>, query: ListQuery, limit: number): Promise<Page<Item>> =>
    pageOf(scanList(rowReader(database, shown, limit + 1), query, limits), limit);
  const countIds = idCounter(database);
  return {
    listRuns: async (query) => list(RUN_LIST, runListQuery(await decideSearch(query, countIds)), query.limit),
    countRuns: async (query) => countRuns(rowCounter(database), await decideSearch(query, countIds)),
    runActivity: (query) => runActivity(activityReader(database), query),
    listWebhooks: (query) => list(WEBHOOK_LIST, webhookListQuery(query), query.limit),
    listOldest: oldestRuns(database),
    listUnsettled: unsettledRuns(database),
    listWithFiles: async ({ org_id, endedBefore, limit }) =>
      orUnavailable('listing runs with files', () =>
        withFiles
          .all(org_id, endedBefore.toISOString(), ...FINAL_STATUSES, limit)
          .map((row) => viewOf(row as unknown as StoredRun)),
      ),
    listToErase: async ({ after, limit }) =>
      orUnavailable('listing views with files to erase', () =>
        toErase.all(after, limit).map((row) => viewOf(row as unknown as StoredRun)),
      ),
    listAll: async ({ after, limit }) =>
      orUnavailable('listing all views', () =>
        all.all(after, limit).map((row) => viewOf(row as unknown as StoredRun)),
      ),
    listErased: async (limit) =>
      orUnavailable('listing views of deleted runs', () =>
        erased.all(limit).map((row) => viewOf(row as unknown as StoredRun)),
      ),
    countQueued: async (orgId, atMost) =>
      orUnavailable('counting queued runs', () => Number(queued.get(orgId, atMost)?.['queued'])),
    sumOutputBytes: async (orgId, sinceDay) =>
      orUnavailable('adding up output bytes', () => Number(outputBytes.get(orgId, sinceDay)?.['bytes'])),
  };
};

type ViewRow = Pick<StoredRun, (typeof VIEW_FIELDS)[number]>;

/** A view as the file has it. @throws {ViewsUnavailable} */
const findWrittenView = (
  database: DatabaseSync,
  recent: RecentViews,
): ((key: RunKey) => StoredView | undefined) => {
  const one = database.prepare(
    `SELECT ${VIEW_FIELDS.join(', ')} FROM run_views WHERE run_id = ? AND org_id = ?`,
  );
  const readRow = (key: RunKey): StoredView | undefined => {
    const row = one.get(key.run_id, key.org_id) as unknown as ViewRow | undefined;
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
    if (known !== undefined) return known ?? undefined;
    return orUnavailable('reading a run view', () => readRow(key));
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

/** Reads the index once for each status, and merges. */
const oldestRuns = (database: DatabaseSync): RunViews['listOldest'] => {
  const statements = new Map<string, StatementSync>();
  const select = (query: OldestQuery): StatementSync => {
    const sql = selectOf(query);
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return async (query) => {
    const { org_id, statuses, createdBefore, after, limit } = query;
    const { from, before } = sortKeysIn({ createdBefore });
    const owner = org_id === undefined ? [] : [org_id];
    const values = statuses.flatMap((status) => [...owner, status, after ?? from, before ?? '', limit + 1]);
    const rows = orUnavailable('listing the oldest runs', () => select(query).all(...values, limit + 1));
    return pageOf(rows.map(keyOf), limit);
  };
};

/** The oldest first, too. */
const unsettledRuns = (database: DatabaseSync): RunViews['listUnsettled'] => {
  const select = database.prepare(
    `SELECT org_id, run_id, sort_key FROM run_views INDEXED BY ${UNSETTLED_INDEX}
     WHERE unsettled > 0 AND sort_key > ? AND sort_key < ? ORDER BY sort_key LIMIT ?`,
  );
  return async ({ createdBefore, after, limit }) => {
    const { from, before } = sortKeysIn({ createdBefore });
    const rows = orUnavailable('listing unsettled runs', () =>
      select.all(after ?? from, before ?? '', limit + 1),
    );
    return pageOf(rows.map(keyOf), limit);
  };
};

const keyOf = ({ org_id, run_id, sort_key }: Record<string, SQLOutputValue>): Listed<RunKey> => ({
  item: { org_id: orgId(String(org_id)), run_id: runId(String(run_id)) },
  sortKey: asSortKey(String(sort_key)),
  bytes: 0,
});

const selectOf = ({ org_id, statuses }: OldestQuery): string => {
  const [index, owner] = org_id === undefined ? [STATUS_INDEX, ''] : [indexOf('status'), 'org_id = ? AND '];
  const branch = `SELECT * FROM (
    SELECT org_id, run_id, sort_key FROM run_views INDEXED BY ${index}
    WHERE ${owner}status = ? AND sort_key > ? AND sort_key < ? ORDER BY sort_key LIMIT ?)`;
  return `${statuses.map(() => branch).join(' UNION ALL ')} ORDER BY sort_key LIMIT ?`;
};
