import type { Db } from 'mongodb';
import { ViewsUnavailable, type NextSet } from '../../run-views.ts';
import { storeOf, type StoredSet } from '../../store-of.ts';
import { orUnavailable } from '../mongo-errors.ts';
import { mongoRunViews, type MongoLimits } from '../mongo-run-views.ts';
import type { ViewPlaces } from './view-places.ts';

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
        ...storeOf((use) => {
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
