import { MongoClient, type Db } from 'mongodb';
import { VIEW_VERSION } from '../../core/stored-run.ts';
import type { ViewStore } from '../../run-views.ts';
import { storeOf, type StoredSet } from '../../store-of.ts';
import { forgetFormerViews, formerMongoViews } from './former-views.ts';
import { keepConnecting } from '../keep-connecting.ts';
import { orUnavailable } from '../mongo-errors.ts';
import { mongoNextSet } from './mongo-next-set.ts';
import { mongoRunViews, SOCKET_WITHIN_MS, type MongoLimits } from '../mongo-run-views.ts';
import { positionOf } from '../projection-position.ts';
import { placesOf, versionIn, type ViewPlaces } from './view-places.ts';
import { sweepCollections, UNUSED_FOR_MS } from './sweep-collections.ts';

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
    ...storeOf(async (use) => use(await live())),
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
export const openMongoNextSet = (
  settings: MongoSettings,
): AsyncDisposable & Pick<ViewStore['next'], 'open'> => {
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
const refuseOtherVersions = async ({ version, positions }: ViewPlaces): Promise<void> => {
  const ids = await positions.distinct('_id');
  const others = ids.map(versionIn).filter((other) => other !== undefined && other < version);
  if (others.length > 0)
    throw new Error(
      `its views are of version ${others.join(', ')}, and those of version ${version} are being made from them and the log`,
    );
};

/** For a URL without a database the driver would take `test`. */
const databaseIn = (url: string): string => /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url)?.[1] ?? DEFAULT_DATABASE;
