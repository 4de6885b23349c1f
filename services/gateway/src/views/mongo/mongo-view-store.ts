import { setTimeout as pause } from 'node:timers/promises';
import { MongoClient, type Db } from 'mongodb';
import { retry } from '@runledger/resilience/retry';
import { VIEW_VERSION } from '../stored-run.decide.ts';
import { eachCall, type BuiltSet, type StoredSet, type ViewStore } from '../run-views.ts';
import {
  forgetFormerViews,
  formerMongoViews,
  formerSets,
  mongoNextSet,
  placesOf,
  versionOfCollection,
  type ViewPlaces,
} from './view-places.ts';
import { orUnavailable, type MongoLimits } from './mongo-server.ts';
import { mongoRunViews, SOCKET_WITHIN_MS } from './mongo-run-views.ts';
import { positionOf } from './projection-position.ts';

export interface MongoSettings extends MongoLimits {
  readonly url: string;
  /** `VIEW_VERSION`, but in tests. */
  readonly version?: number;
  /** How long a collection stays that no set uses; a minute, but in tests. */
  readonly unusedForMs?: number;
}

/** A client waits for a read. Nobody waits for a write, and one of many views takes longer. */
export const MONGO_LIMITS = { readWithinMs: 2_000, writeWithinMs: 15_000 } as const;

const DEFAULT_DATABASE = 'runledger';
/** A gateway reads the position every two seconds. One that was paused looks first: the set that it knows may be gone. */
const LOOK_AGAIN_MS = 5_000;

/** Opens without waiting for the server. Until the server is available, every call throws ViewsUnavailable. */
export const openMongoViewStore = (settings: MongoSettings): ViewStore => {
  const { version = VIEW_VERSION, unusedForMs = UNUSED_FOR_MS, ...limits } = settings;
  const { database, connecting } = connect(settings);
  const places = placesOf(database, version);
  const sets = new Map<string, StoredSet>();
  let known: { readonly collection: string; readonly lookedAt: number } | undefined;

  const look = () =>
    orUnavailable('reading the position of the projection', limits.writeWithinMs, async () => {
      const found = await places.live.read();
      if (!found) await refuseOtherVersions(places);
      known = { collection: found?.collection ?? places.firstCollection, lookedAt: limits.clock() };
      return found;
    });
  const live = async (): Promise<StoredSet> => {
    if (!known || limits.clock() - known.lookedAt > LOOK_AGAIN_MS) await look();
    const collection = known?.collection ?? places.firstCollection;
    const set =
      sets.get(collection) ?? mongoRunViews({ database, collection, position: places.live, limits });
    sets.set(collection, set);
    return set;
  };
  const sweep = sweepCollections(database, places, unusedForMs);
  const next = mongoNextSet({ database, places, limits });
  return {
    shared: true,
    ...eachCall(async (use) => use(await live())),
    position: async () => {
      const found = await look();
      return found && positionOf(found);
    },
    next: {
      ...next,
      replaceLive: async (from, to) => {
        const isReplaced = await next.replaceLive(from, to);
        known = undefined;
        sets.clear();
        if (isReplaced) sweep.soon();
        return isReplaced;
      },
    },
    former: () =>
      orUnavailable('looking for views of another version', limits.readWithinMs, () =>
        formerMongoViews(database, places, limits),
      ),
    dropFormer: async (log) => {
      const dropped = await orUnavailable('dropping views of former versions', limits.writeWithinMs, () =>
        forgetFormerViews(places, log),
      );
      if (dropped.length > 0) sweep.soon();
      return dropped;
    },
    [Symbol.asyncDispose]: async () => {
      sweep[Symbol.dispose]();
      await connecting[Symbol.asyncDispose]();
    },
  };
};

/** The next set, for a process that only builds it. */
export const openMongoNextSet = (settings: MongoSettings): AsyncDisposable & BuiltSet => {
  const { version = VIEW_VERSION, ...limits } = settings;
  const { database, connecting } = connect(settings);
  return { ...mongoNextSet({ database, places: placesOf(database, version), limits }), ...connecting };
};

const connect = ({ url, readWithinMs }: MongoSettings): { database: Db; connecting: AsyncDisposable } => {
  const client = new MongoClient(url, {
    appName: 'runledger-gateway',
    serverSelectionTimeoutMS: readWithinMs,
    connectTimeoutMS: readWithinMs,
    waitQueueTimeoutMS: readWithinMs,
    socketTimeoutMS: SOCKET_WITHIN_MS,
    writeConcern: { w: 'majority', journal: true },
  });
  return { database: client.db(databaseIn(url)), connecting: keepConnecting(client) };
};

/** Until this version has views, nothing may be read or derived: what there is looks empty. */
const refuseOtherVersions = async (places: ViewPlaces): Promise<void> => {
  const others = await formerSets(places);
  if (others.length > 0)
    throw new Error(
      `its views are of version ${others.map((other) => other.version).join(', ')}, and those of version ${places.version} are being made from them and the log`,
    );
};

/** For a URL without a database the driver would take `test`. */
const databaseIn = (url: string): string => /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url)?.[1] ?? DEFAULT_DATABASE;

const DELAY_MS = { firstMs: 250, longestMs: 500 } as const;

/**
 * Connects until the server was found once. The driver closes a client whose first connect has failed, and every later
 * call then fails at once ("Topology is closed"): only `connect` makes it search again. Later the driver finds its server
 * by itself. Disposing closes the client.
 */
const keepConnecting = (client: MongoClient): AsyncDisposable => {
  const stop = new AbortController();
  // Every call to the views reports why they are unavailable, so the errors are not needed here.
  const options = { ...DELAY_MS, isUnavailable: () => true, signal: stop.signal };
  const connected = retry(options, () => client.connect()).catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await client.close(true);
      await connected;
    },
  };
};

/** Gateways that still read a replaced set notice it within seconds. */
const UNUSED_FOR_MS = 60_000;

interface CollectionSweep extends Disposable {
  /** Drops the collections of this version and of former ones that no set uses, after a while (a minute) if none uses them then. */
  soon(): void;
}

/** Begins at once: a process may have been killed before it dropped what it had replaced. */
const sweepCollections = (
  database: Db,
  { version: own, live, positions }: ViewPlaces,
  unusedForMs: number,
): CollectionSweep => {
  const stop = new AbortController();
  const unused = async (): Promise<string[]> => {
    // Without a position it is not known which one is live.
    if ((await live.read())?.collection === undefined) return [];
    const used = await positions.distinct('collection');
    const all = await database.listCollections({}, { nameOnly: true }).toArray();
    return all
      .map(({ name }) => name)
      .filter((name) => (versionOfCollection(name) ?? Infinity) <= own && !used.includes(name));
  };
  const sweep = async (): Promise<void> => {
    try {
      const before = await unused();
      if (before.length === 0) return;
      await pause(unusedForMs, undefined, { ref: false, signal: stop.signal });
      const still = new Set(await unused());
      for (const name of before) if (still.has(name)) await database.collection(name).drop();
    } catch {
      // The server is unavailable, or this process stops. The next start begins again.
    }
  };
  void sweep();
  return { soon: () => void sweep(), [Symbol.dispose]: () => stop.abort() };
};
