import { MongoClient } from 'mongodb';
import { once } from '../../concurrency/once.ts';
import { keepConnecting } from './keep-connecting.ts';
import { ignoringStale, orUnavailable } from './mongo-errors.ts';
import { storedPosition } from './projection-position.ts';
import { scanList, type ScanLimits } from './scan-list.ts';
import { guardedWrite, ROW_FIELDS, rowOf, viewOf, type RunDocument } from './run-documents.ts';
import { createIndexes } from './run-indexes.ts';
import { webhookListQuery, runListQuery } from './run-queries.ts';
import { resetViewHeads } from './reset-heads.ts';
import { pageOf } from '../core/page.ts';
import { isSameRun, type RunViews } from '../run-views.ts';

export interface MongoSettings {
  readonly url: string;
  /** Runs are kept for so long from their creation on; longer than the log keeps them. */
  readonly retentionDays?: number;
  /** How long a read may take before the log is read instead. */
  readonly readWithinMs?: number;
  readonly writeWithinMs?: number;
  /** How long a list looks for what several filters fit, and at how many runs at first, before its page ends early. */
  readonly lookForMs?: number;
  readonly lookAtFirst?: number;
}

export interface OpenMongoRunViews extends RunViews, AsyncDisposable {}

const DEFAULT_DATABASE = 'runledger';
const SOCKET_WITHIN_MS = 120_000;

/** Opens without waiting for the server: until it is there, every call throws ViewsUnavailable. */
export const openMongoRunViews = ({
  url,
  retentionDays = 90,
  readWithinMs = 2_000,
  writeWithinMs = 15_000,
  lookForMs = readWithinMs / 4,
  lookAtFirst = 500,
}: MongoSettings): OpenMongoRunViews => {
  const client = new MongoClient(url, {
    appName: 'runledger-gateway',
    serverSelectionTimeoutMS: readWithinMs,
    connectTimeoutMS: readWithinMs,
    waitQueueTimeoutMS: readWithinMs,
    // Of what nobody waits for any more; an index of many runs takes a while.
    socketTimeoutMS: SOCKET_WITHIN_MS,
    writeConcern: { w: 'majority', journal: true },
  });
  const connecting = keepConnecting(client);
  const database = client.db(databaseIn(url));
  const runs = database.collection<RunDocument>('run_views');
  const reading = { maxTimeMS: readWithinMs };
  const looking: ScanLimits = { firstPiece: lookAtFirst, giveUpAfterMs: lookForMs, ...reading };
  const position = storedPosition(database);
  const indexed = once(() => createIndexes(database, runs, retentionDays));

  return {
    shared: true,
    find: ({ org_id, run_id }) =>
      orUnavailable('reading a run view', readWithinMs, async () => {
        const document = await runs.findOne({ _id: run_id, org_id }, reading);
        return document ? viewOf(document) : undefined;
      }),
    load: (keys) =>
      orUnavailable('loading run views', writeWithinMs, async () => {
        const ids = keys.map(({ run_id }) => run_id);
        const documents = await runs.find({ _id: { $in: ids } }).toArray();
        const found = new Map(documents.map(viewOf).map((view) => [view.run.run_id, view]));
        return keys.flatMap((key) => {
          const view = found.get(key.run_id);
          return isSameRun(view, key) ? [view] : [];
        });
      }),
    save: async (views) => {
      if (views.length === 0) return;
      await orUnavailable('making the indexes of run views', SOCKET_WITHIN_MS, indexed);
      const writes = views.map(guardedWrite);
      await orUnavailable('saving run views', writeWithinMs, () =>
        ignoringStale(() => runs.bulkWrite(writes, { ordered: false })),
      );
    },
    listRuns: (query) =>
      orUnavailable('listing run views', readWithinMs, () => {
        const show = (document: RunDocument) => ({
          item: viewOf(document),
          bytes: Buffer.byteLength(document.run),
        });
        const shown = { limit: query.limit + 1, show };
        return pageOf(scanList(runs, runListQuery(query), shown, looking), query.limit);
      }),
    listWebhooks: (query) =>
      orUnavailable('listing runs with a webhook', readWithinMs, () => {
        const show = (document: RunDocument) => ({ item: rowOf(document), bytes: 0 });
        const shown = { limit: query.limit + 1, projection: ROW_FIELDS, show };
        return pageOf(scanList(runs, webhookListQuery(query), shown, looking), query.limit);
      }),
    countQueued: (org_id, atMost) =>
      orUnavailable('counting queued runs', readWithinMs, () =>
        runs.countDocuments({ org_id, status: 'queued' }, { limit: atMost, ...reading }),
      ),
    position: () =>
      orUnavailable('reading the position of the projection', writeWithinMs, () => position.read()),
    savePosition: (next) =>
      orUnavailable('saving the position of the projection', writeWithinMs, () => position.save(next)),
    resetTo: async (streamCreated) => {
      const step = <Result>(work: () => Promise<Result>): Promise<Result> =>
        orUnavailable('starting the run views again', writeWithinMs, work);
      // The position last: a crash in between begins again here.
      await resetViewHeads(runs, step);
      await orUnavailable('making the indexes of run views', SOCKET_WITHIN_MS, indexed);
      await step(() => position.reset(streamCreated));
    },
    [Symbol.asyncDispose]: () => connecting[Symbol.asyncDispose](),
  };
};

/** The driver would take `test` for a URL that names none. */
const databaseIn = (url: string): string => /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url)?.[1] ?? DEFAULT_DATABASE;
