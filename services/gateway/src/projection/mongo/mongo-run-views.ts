import { MongoClient, type Db } from 'mongodb';
import { once } from './once.ts';
import type { RunViews } from '../run-views.ts';
import { keepConnecting } from './keep-connecting.ts';
import { ignoringStale, orUnavailable } from './mongo-errors.ts';
import { storedPosition } from './projection-position.ts';
import { readViews } from './read-views.ts';
import { resetViewHeads } from './reset-view-heads.ts';
import { guardedRemoval, guardedWrite, type RunDocument } from './run-documents.ts';
import { createIndexes } from './run-indexes.ts';
import { readReferences } from './run-references.ts';

export interface MongoSettings {
  readonly url: string;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** How long a read may take. */
  readonly readWithinMs: number;
  readonly writeWithinMs: number;
}

/** A client waits for a read. Nobody waits for a write, and one of many views takes longer. */
export const MONGO_LIMITS = { readWithinMs: 2_000, writeWithinMs: 15_000 } as const;

export interface OpenMongoRunViews extends RunViews, AsyncDisposable {}

const DEFAULT_DATABASE = 'runledger';
const SOCKET_WITHIN_MS = 120_000;

/** Opens without waiting for the server. Until the server is available, every call throws ViewsUnavailable. */
export const openMongoRunViews = ({
  url,
  clock,
  readWithinMs,
  writeWithinMs,
}: MongoSettings): OpenMongoRunViews => {
  const client = new MongoClient(url, {
    appName: 'runledger-gateway',
    serverSelectionTimeoutMS: readWithinMs,
    connectTimeoutMS: readWithinMs,
    waitQueueTimeoutMS: readWithinMs,
    // For work whose caller no longer waits. An index of many runs takes a while.
    socketTimeoutMS: SOCKET_WITHIN_MS,
    writeConcern: { w: 'majority', journal: true },
  });
  const connecting = keepConnecting(client);
  const database = client.db(databaseIn(url));
  const runs = database.collection<RunDocument>('run_views');
  return {
    shared: true,
    ...readViews(runs, { readWithinMs, writeWithinMs, clock }),
    ...readReferences(runs, { readWithinMs, writeWithinMs }),
    ...writeViews(database, writeWithinMs),
    [Symbol.asyncDispose]: () => connecting[Symbol.asyncDispose](),
  };
};

/** The writing half: only the projection uses it. */
const writeViews = (
  database: Db,
  writeWithinMs: number,
): Pick<RunViews, 'save' | 'remove' | 'position' | 'advance' | 'resetTo'> => {
  const runs = database.collection<RunDocument>('run_views');
  const position = storedPosition(database);
  const index = () =>
    orUnavailable('making the indexes of run views', SOCKET_WITHIN_MS, () => createIndexes(runs));
  const whenIndexed = once(index);
  const save: RunViews['save'] = async (views) => {
    if (views.length === 0) return;
    await whenIndexed();
    const writes = views.map(guardedWrite);
    await orUnavailable('saving run views', writeWithinMs, () =>
      ignoringStale(() => runs.bulkWrite(writes, { ordered: false })),
    );
  };
  return {
    save,
    remove: async (views) => {
      if (views.length === 0) return 0;
      const removals = views.map(guardedRemoval);
      const { deletedCount } = await orUnavailable('removing run views', writeWithinMs, () =>
        runs.bulkWrite(removals, { ordered: false }),
      );
      return deletedCount;
    },
    position: () =>
      orUnavailable('reading the position of the projection', writeWithinMs, () => position.read()),
    advance: async (views, from, to) => {
      await save(views);
      return orUnavailable('saving the position of the projection', writeWithinMs, () =>
        position.move(from, to),
      );
    },
    resetTo: async (beginning) => {
      const step = <Result>(work: () => Promise<Result>): Promise<Result> =>
        orUnavailable('resetting the run views', writeWithinMs, work);
      // The position last: after a crash in between, the reset begins again.
      await resetViewHeads(runs, step);
      // Who emptied the database removed its indexes too.
      await index();
      await step(() => position.reset(beginning));
    },
  };
};

/** For a URL without a database the driver would take `test`. */
const databaseIn = (url: string): string => /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url)?.[1] ?? DEFAULT_DATABASE;
