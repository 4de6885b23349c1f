import type { DatabaseSync } from 'node:sqlite';
import { runListQuery, webhookListQuery, type ListQuery } from '../core/list-query.ts';
import { countRuns } from '../core/counts/count-runs.ts';
import { runActivity } from '../core/counts/run-activity.ts';
import { pageOf, type Page } from '../core/page.ts';
import { scanList } from '../core/scan-list.ts';
import { decideSearch } from '../core/search/run-search.ts';
import { RUN_LIST, WEBHOOK_LIST, type StoredList } from '../core/stored-list.ts';
import { FINAL_STATUSES, type StoredView } from '../core/run-view.ts';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { activityReader } from './read-activity.ts';
import { deferWrites } from './deferred-writes.ts';
import { findWrittenView } from './find-written-view.ts';
import { recentViews } from './recent-views.ts';
import { VIEW_FIELDS, VIEW_VERSION, viewOf, type StoredRun } from '../core/stored-run.ts';
import type { ReadingViews, RunViews } from '../run-views.ts';
import { idCounter } from './list-branches.ts';
import { openDatabase, orUnavailable } from './open-database.ts';
import { oldestRuns, unsettledRuns } from './oldest-runs.ts';
import { rowCounter, rowReader } from './read-lists.ts';
import { readReferences } from './read-references.ts';
import { DELETED_INDEX, ERASE_INDEX, FILES_INDEX } from './schema.ts';
import { writeViews } from './write-views.ts';

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
