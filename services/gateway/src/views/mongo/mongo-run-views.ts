import type { Db, Collection } from 'mongodb';
import { readLists } from '../read-lists.ts';
import { isSameRun } from '../run-view.ts';
import { eachCall, type StoredSet } from '../run-views.ts';
import { viewOf } from '../stored-run.decide.ts';
import { limited, orUnavailable, type MongoLimits } from './mongo-server.ts';
import { mongoReader } from './mongo-reader.ts';
import { positionOf, type StoredPosition } from './projection-position.ts';
import {
  guardedRemoval,
  guardedWrite,
  writeGuarded,
  createIndexes,
  readReferences,
  type RunDocument,
} from './run-documents.ts';

interface MongoSet {
  readonly database: Db;
  readonly collection: string;
  readonly position: StoredPosition;
  readonly limits: MongoLimits;
}

/** For work whose caller no longer waits. An index of many runs takes a while. */
export const SOCKET_WITHIN_MS = 120_000;

/** The views of one collection. */
export const mongoRunViews = ({ database, collection, position, limits }: MongoSet): StoredSet => {
  const { readWithinMs, writeWithinMs, clock } = limits;
  const runs = database.collection<RunDocument>(collection);
  const step = <Result>(work: () => Promise<Result>): Promise<Result> => limited(writeWithinMs, work);
  const index = () => limited(SOCKET_WITHIN_MS, () => createIndexes(runs));
  const whenIndexed = once(index);
  const save: StoredSet['save'] = async (views) => {
    if (views.length === 0) return;
    await whenIndexed();
    await step(() => writeGuarded(runs, views.map(guardedWrite)));
  };
  const lookForMs = readWithinMs / 4;
  const scanLimits = { giveUpAfterMs: lookForMs, giveUpSearchAfterMs: lookForMs, clock };
  const views: StoredSet = {
    ...readLists(mongoReader(runs, limits), scanLimits),
    ...readReferences(runs, limits),
    find: (key) =>
      limited(readWithinMs, async () => {
        // By nothing but its id: then a server looks at no other index.
        const document = await runs.findOne({ _id: key.run_id }, { maxTimeMS: readWithinMs });
        const view = document ? viewOf(document) : undefined;
        return isSameRun(view, key) ? view : undefined;
      }),
    load: (keys) =>
      step(async () => {
        const ids = keys.map(({ run_id }) => run_id);
        const documents = await runs.find({ _id: { $in: ids } }).toArray();
        const found = new Map(documents.map(viewOf).map((view) => [view.run.run_id, view]));
        return keys.flatMap((key) => {
          const view = found.get(key.run_id);
          return isSameRun(view, key) ? [view] : [];
        });
      }),
    save,
    remove: async (removed) => {
      if (removed.length === 0) return 0;
      const removals = removed.map(guardedRemoval);
      return (await step(() => runs.bulkWrite(removals, { ordered: false }))).deletedCount;
    },
    position: () =>
      step(async () => {
        const found = await position.read();
        return found && positionOf(found);
      }),
    advance: async (advanced, from, to) => {
      if (advanced.length === 0) return step(() => position.move(from, to));
      const batch = await step(() => position.claim(from));
      if (batch === undefined) return false;
      await save(advanced);
      return step(() => position.move(from, to, batch));
    },
    resetTo: async (beginning) => {
      // The position last: after a crash in between, the reset begins again.
      await resetViewHeads(runs, step);
      // Who emptied the database removed its indexes too.
      await index();
      await step(() => position.reset(beginning, collection));
    },
  };
  return eachCall((use, _name, what) => orUnavailable(what, undefined, () => use(views)));
};

/** Does the work until it has succeeded once, and returns that result from then on. */
const once = <Result>(work: () => Promise<Result>): (() => Promise<Result>) => {
  let done: Promise<Result> | undefined;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
};

const PIECE = 1_000;
type Step = <Result>(work: () => Promise<Result>) => Promise<Result>;

/**
 * Sets the heads of all views back to 0, in pieces in the order of the ids, so that no step takes longer the more views
 * there are. `step` limits the time of each.
 */
const resetViewHeads = async (runs: Collection<RunDocument>, step: Step): Promise<void> => {
  for (let after = ''; ;) {
    const read = runs.find({ _id: { $gt: after } }, { projection: { _id: 1 } });
    const ids = await step(async () => (await read.sort({ _id: 1 }).limit(PIECE).toArray()).map(idOf));
    const last = ids.at(-1);
    if (last === undefined) return;
    // A range of ids, since a list of them is slow on some servers.
    const range = { $gt: after, $lte: last };
    await step(() => runs.updateMany({ _id: range, $or: AHEAD }, { $set: { head: 0, webhook_head: 0 } }));
    after = last;
  }
};

const AHEAD = [{ head: { $ne: 0 } }, { webhook_head: { $ne: 0 } }];

const idOf = ({ _id: id }: RunDocument): string => id;
