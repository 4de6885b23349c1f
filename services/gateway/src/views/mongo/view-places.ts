import type { Collection, Db } from 'mongodb';
import { storedPosition, type PositionDocument, type StoredPosition } from './projection-position.ts';
import { hasMissed, type LogBeginning, type ProjectionPosition } from '../projection-start.decide.ts';
import { ViewsUnavailable, type FormerViews, type NextSet, eachCall, type StoredSet } from '../run-views.ts';
import { orUnavailable, type MongoLimits } from './mongo-server.ts';
import { mongoRunViews } from './mongo-run-views.ts';

/** Where the sets of views of one version are. */
export interface ViewPlaces {
  readonly version: number;
  readonly positions: Collection<PositionDocument>;
  readonly live: StoredPosition;
  readonly next: StoredPosition;
  /** Of the first set. Those that were built beside have its name with a number. */
  readonly firstCollection: string;
}

const LIVE_ID = /^v(\d+)$/;
const COLLECTION = /^run_views_v(\d+)(?:_\d+)?$/;

export const placesOf = (database: Db, version: number): ViewPlaces => {
  const positions = database.collection<PositionDocument>('projections');
  return {
    version,
    positions,
    live: storedPosition(positions, liveIdOf(version)),
    next: storedPosition(positions, nextIdOf(version)),
    firstCollection: firstCollectionOf(version),
  };
};

/** The collection of the first set of views of a version. */
export const firstCollectionOf = (version: number): string => `run_views_v${version}`;

const liveIdOf = (version: number): string => `v${version}`;
const nextIdOf = (version: number): string => `v${version}.next`;

/** The version of views that a collection has, by its name; undefined for other collections. */
export const versionOfCollection = (name: string): number | undefined => {
  const [, version] = COLLECTION.exec(name) ?? [];
  return version === undefined ? undefined : Number(version);
};

interface FormerSet extends ProjectionPosition {
  readonly version: number;
  readonly collection: string;
}

/** The live sets of earlier versions, the latest first. */
export const formerSets = async ({ version: own, positions }: ViewPlaces): Promise<FormerSet[]> =>
  (await positions.find().toArray())
    .map(({ _id: id, ...position }) => ({
      ...position,
      version: Number(LIVE_ID.exec(id)?.[1] ?? Infinity),
    }))
    .filter(({ version }) => version < own)
    .toSorted((a, b) => b.version - a.version);

/** Those of the latest version. Its gateways may still serve, and keep them up. */
export const formerMongoViews = async (
  database: Db,
  places: ViewPlaces,
  limits: MongoLimits,
): Promise<FormerViews | undefined> => {
  if (await places.live.read()) return undefined;
  const [latest] = await formerSets(places);
  if (!latest) return undefined;
  const { version, collection } = latest;
  const views = mongoRunViews({ database, collection, position: places.live, limits });
  return {
    version,
    listAll: (query) => views.listAll(query),
    [Symbol.asyncDispose]: async () => undefined,
  };
};

/**
 * Removes the positions of sets of earlier versions that lack facts which the log has lost. Nothing uses their collections then. Resolves
 * with their versions.
 */
export const forgetFormerViews = async (places: ViewPlaces, log: LogBeginning): Promise<number[]> => {
  if (!(await places.live.read())) return [];
  const outdated = (await formerSets(places)).filter((position) => hasMissed(position, log));
  for (const { version } of outdated)
    await places.positions.deleteMany({ _id: { $in: [liveIdOf(version), nextIdOf(version)] } });
  return outdated.map(({ version }) => version);
};

interface MongoNextSet {
  readonly database: Db;
  readonly places: ViewPlaces;
  readonly limits: MongoLimits;
}

export const mongoNextSet = ({ database, places, limits }: MongoNextSet): NextSet => {
  const { live, next, firstCollection } = places;
  const setIn = (collection: string): StoredSet =>
    mongoRunViews({ database, collection, position: next, limits });
  const step = <Result>(what: string, work: () => Promise<Result>): Promise<Result> =>
    orUnavailable(what, limits.writeWithinMs, work);
  const begun = async (): Promise<string | undefined> => {
    const found = await next.read();
    // A process was killed behind the replacement.
    return found?.collection === (await live.read())?.collection ? undefined : found?.collection;
  };
  return {
    exists: () => step('looking for views that are being built', async () => (await begun()) !== undefined),
    open: async () => {
      const present = await step('opening the next views', begun);
      let set = present === undefined ? undefined : setIn(present);
      return {
        ...eachCall(async (use) => {
          if (!set) throw new ViewsUnavailable('the next views were not begun');
          return use(set);
        }),
        position: async () => set?.position(),
        resetTo: async (beginning) => {
          const collection = `${firstCollection}_${beginning.derivation}`;
          await step('emptying the next views', () => database.collection(collection).drop());
          set = setIn(collection);
          await set.resetTo(beginning);
        },
        [Symbol.asyncDispose]: async () => undefined,
      };
    },
    replaceLive: (from, to) =>
      step('making the next views the live ones', async () => {
        const collection = await begun();
        if (collection === undefined) return false;
        const isDone = from ? await live.moveInto(collection, from, to) : await live.add(to, collection);
        if (isDone) await next.remove();
        return isDone;
      }),
    remove: () =>
      step('removing the next views', async () => {
        const collection = await begun();
        await next.remove();
        if (collection !== undefined) await database.collection(collection).drop();
      }),
  };
};
