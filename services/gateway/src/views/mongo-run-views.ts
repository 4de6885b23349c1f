import type { Run } from '@runledger/contracts/run';
import {
  MongoBulkWriteError,
  MongoClient,
  MongoServerError,
  type AnyBulkWriteOperation,
  type Collection,
} from 'mongodb';
import {
  isSameRun,
  ViewsUnavailable,
  type ProjectionPosition,
  type RunView,
  type RunViews,
} from './run-views.ts';

/**
 * The fold stands as JSON text: inputs and outputs may have names and values that BSON changes or refuses (`$ref`,
 * `_bsontype`, NUL, names that are numbers). What is asked for in lists stands beside it.
 */
interface RunDocument {
  readonly _id: string;
  readonly org_id: string;
  readonly head: number;
  readonly number: number;
  readonly status: string;
  readonly deployment_id: string;
  readonly workflow_id: string;
  readonly gpu: string;
  readonly origin: string;
  readonly created_at: Date;
  readonly run: string;
}

interface PositionDocument extends ProjectionPosition {
  readonly _id: 'run_views';
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
const POSITION = 'run_views';

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
        const writes = views.map(({ head, run }) => guardedWrite(head, run));
        await ignoringStale(() => runs.bulkWrite(writes, { ordered: false, ...writing }));
      }),
    position: () =>
      orUnavailable('reading the position of the projection', async () => {
        const document = await positions.findOne({ _id: POSITION }, writing);
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
        await runs.updateMany({}, { $set: { head: 0 } }, { timeoutMS: writeWithinMs * 20 });
        const beginning = { stream_created, sequence: 0, event_id: null };
        await positions.replaceOne({ _id: POSITION }, beginning, { upsert: true, ...writing });
      }),
    [Symbol.asyncDispose]: () => client.close(true),
  };
};

/** The driver would take `test` for a URL that names none. */
const databaseIn = (url: string): string => /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url)?.[1] ?? DEFAULT_DATABASE;

const guardedWrite = (head: number, run: Run): AnyBulkWriteOperation<RunDocument> => ({
  replaceOne: {
    filter: { _id: run.run_id, org_id: run.org_id, head: { $lt: head } },
    replacement: {
      org_id: run.org_id,
      head,
      number: run.number,
      status: run.status,
      deployment_id: run.request.deployment_id,
      workflow_id: run.request.workflow_id,
      gpu: run.request.gpu,
      origin: run.request.origin,
      created_at: new Date(run.created_at),
      run: JSON.stringify(run),
    },
    upsert: true,
  },
});

// Written by `guardedWrite` only.
const viewOf = ({ head, run }: RunDocument): RunView => ({
  head,
  run: JSON.parse(run) as Run,
});

const createIndexes = async (runs: Collection<RunDocument>): Promise<void> => {
  await runs.createIndexes([
    { key: { org_id: 1, number: -1 } },
    { key: { org_id: 1, status: 1, number: -1 } },
    { key: { org_id: 1, deployment_id: 1, number: -1 } },
  ]);
};

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
