import { MongoBulkWriteError, MongoClient, MongoServerError } from 'mongodb';
import {
  createIndexes,
  guardedWrite,
  NEWEST_FIRST,
  ROW_FIELDS,
  rowOf,
  rowsAskedFor,
  viewOf,
  type RunDocument,
} from './mongo-run-documents.ts';
import { isSameRun, ViewsUnavailable, type ProjectionPosition, type RunViews } from './run-views.ts';

interface PositionDocument extends ProjectionPosition {
  readonly _id: typeof POSITION | typeof EARLIER_POSITION;
}

export interface MongoSettings {
  readonly url: string;
  /** How long a read may take before the log is read instead. */
  readonly readWithinMs?: number;
  readonly writeWithinMs?: number;
}

export interface OpenMongoRunViews extends RunViews, AsyncDisposable {}

const DUPLICATE_KEY = 11000;
const DEFAULT_DATABASE = 'runledger';
const POSITION = 'run_views.2';
/** Of the first release, whose views know nothing of webhooks: where there is one, that release has projected since. */
const EARLIER_POSITION = 'run_views';

/** Opens without waiting for the server: until it is there, every call throws ViewsUnavailable. */
export const openMongoRunViews = ({
  url,
  readWithinMs = 2_000,
  writeWithinMs = 15_000,
}: MongoSettings): OpenMongoRunViews => {
  const client = new MongoClient(url, {
    appName: 'runledger-gateway',
    serverSelectionTimeoutMS: readWithinMs,
    connectTimeoutMS: readWithinMs,
    writeConcern: { w: 'majority', journal: true },
  });
  const database = client.db(databaseIn(url));
  const runs = database.collection<RunDocument>('run_views');
  const positions = database.collection<PositionDocument>('projections');
  const reading = { timeoutMS: readWithinMs };
  const writing = { timeoutMS: writeWithinMs };
  const indexed = once(() => createIndexes(runs));

  return {
    shared: true,
    find: ({ org_id, run_id }) =>
      orUnavailable('reading a run view', async () => {
        const document = await runs.findOne({ _id: run_id, org_id }, reading);
        return document ? viewOf(document) : undefined;
      }),
    load: (keys) =>
      orUnavailable('loading run views', async () => {
        const ids = keys.map(({ run_id }) => run_id);
        const documents = await runs.find({ _id: { $in: ids } }, writing).toArray();
        const found = new Map(documents.map(viewOf).map((view) => [view.run.run_id, view]));
        return keys.flatMap((key) => {
          const view = found.get(key.run_id);
          return isSameRun(view, key) ? [view] : [];
        });
      }),
    save: (views) =>
      orUnavailable('saving run views', async () => {
        if (views.length === 0) return;
        await indexed();
        const writes = views.map(guardedWrite);
        await ignoringStale(() => runs.bulkWrite(writes, { ordered: false, ...writing }));
      }),
    listWebhooks: (query) =>
      orUnavailable('listing run views', async () => {
        const found = runs.find(rowsAskedFor(query), { projection: ROW_FIELDS, ...reading });
        const documents = await found.sort(NEWEST_FIRST).limit(query.limit).toArray();
        return documents.map(rowOf);
      }),
    position: () =>
      orUnavailable('reading the position of the projection', async () => {
        const documents = await positions
          .find({ _id: { $in: [POSITION, EARLIER_POSITION] } }, writing)
          .toArray();
        if (documents.some(({ _id }) => _id === EARLIER_POSITION)) return undefined;
        const document = documents.find(({ _id }) => _id === POSITION);
        if (!document) return undefined;
        const { _id, ...position } = document;
        return position;
      }),
    savePosition: (position) =>
      orUnavailable('saving the position of the projection', async () => {
        const { stream_created, sequence } = position;
        await ignoringStale(() =>
          positions.updateOne(
            { _id: POSITION, stream_created, sequence: { $lt: sequence } },
            { $set: position },
            { upsert: true, ...writing },
          ),
        );
      }),
    startAgain: (stream_created) =>
      orUnavailable('starting the run views again', async () => {
        // The heads first: a crash in between begins again here.
        await runs.updateMany({}, { $set: { head: 0, webhook_head: 0 } }, { timeoutMS: writeWithinMs * 20 });
        const beginning = { stream_created, sequence: 0, event_id: null };
        await positions.replaceOne({ _id: POSITION }, beginning, { upsert: true, ...writing });
        await positions.deleteOne({ _id: EARLIER_POSITION }, writing);
      }),
    [Symbol.asyncDispose]: () => client.close(true),
  };
};

/** The driver would take `test` for a URL that names none. */
const databaseIn = (url: string): string => /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url)?.[1] ?? DEFAULT_DATABASE;

/** A guarded upsert that finds a newer document tries to insert a second one, and is refused for that. */
const ignoringStale = async (write: () => Promise<unknown>): Promise<void> => {
  try {
    await write();
  } catch (error) {
    if (error instanceof MongoBulkWriteError) {
      const errors = [error.writeErrors].flat();
      if (error.result.getWriteConcernError() === undefined && errors.every(isDuplicate)) return;
    } else if (error instanceof MongoServerError && isDuplicate(error)) return;
    throw error;
  }
};

const isDuplicate = ({ code }: { code?: number | string | undefined }): boolean => code === DUPLICATE_KEY;

const orUnavailable = async <Result>(what: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ViewsUnavailable(`${what}: MongoDB did not do it (${why})`, { cause: error });
  }
};

/** Until it has succeeded once. */
const once = (work: () => Promise<void>): (() => Promise<void>) => {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
};
