import type { Db, Collection } from 'mongodb';
import type { RunViews, StoredSet } from '../run-views.ts';
import { orUnavailable } from './mongo-errors.ts';
import { positionOf, type StoredPosition } from './projection-position.ts';
import { readViews } from './read-views.ts';
import {
  guardedRemoval,
  guardedWrite,
  writeGuarded,
  createIndexes,
  readReferences,
  type RunDocument,
} from './run-documents.ts';

export interface MongoLimits {
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** How long a read may take. */
  readonly readWithinMs: number;
  readonly writeWithinMs: number;
}

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
  const { writeWithinMs } = limits;
  const runs = database.collection<RunDocument>(collection);
  return {
    ...readViews(runs, limits),
    ...readReferences(runs, limits),
    ...writeViews({ database, collection, position, writeWithinMs }),
  };
};

interface WrittenSet extends Omit<MongoSet, 'limits'>, Pick<MongoLimits, 'writeWithinMs'> {}

/** The writing half: only the projection uses it. */
const writeViews = ({
  database,
  collection,
  position,
  writeWithinMs,
}: WrittenSet): Pick<RunViews, 'save' | 'remove' | 'position' | 'advance' | 'resetTo'> => {
  const runs = database.collection<RunDocument>(collection);
  const index = () =>
    orUnavailable('making the indexes of run views', SOCKET_WITHIN_MS, () => createIndexes(runs));
  const whenIndexed = once(index);
  const save: RunViews['save'] = async (views) => {
    if (views.length === 0) return;
    await whenIndexed();
    const writes = views.map(guardedWrite);
    await orUnavailable('saving run views', writeWithinMs, () => writeGuarded(runs, writes));
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
      orUnavailable('reading the position of the projection', writeWithinMs, async () => {
        const found = await position.read();
        return found && positionOf(found);
      }),
    advance: async (views, from, to) => {
      const move = (batch?: string): Promise<boolean> =>
        orUnavailable('saving the position of the projection', writeWithinMs, () =>
          position.move(from, to, batch),
        );
      if (views.length === 0) return move();
      const batch = await orUnavailable('beginning a batch of run views', writeWithinMs, () =>
        position.claim(from),
      );
      if (batch === undefined) return false;
      await save(views);
      return move(batch);
    },
    resetTo: async (beginning) => {
      const step = <Result>(work: () => Promise<Result>): Promise<Result> =>
        orUnavailable('resetting the run views', writeWithinMs, work);
      // The position last: after a crash in between, the reset begins again.
      await resetViewHeads(runs, step);
      // Who emptied the database removed its indexes too.
      await index();
      await step(() => position.reset(beginning, collection));
    },
  };
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
