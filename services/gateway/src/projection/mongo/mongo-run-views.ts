import type { Db } from 'mongodb';
import { once } from './once.ts';
import type { RunViews } from '../run-views.ts';
import type { StoredSet } from '../store-of.ts';
import { orUnavailable } from './mongo-errors.ts';
import { positionOf, type StoredPosition } from './projection-position.ts';
import { readViews } from './read-views.ts';
import { resetViewHeads } from './reset-view-heads.ts';
import { guardedRemoval, guardedWrite, writeGuarded, type RunDocument } from './run-documents.ts';
import { createIndexes } from './run-indexes.ts';
import { readReferences } from './run-references.ts';

export interface MongoLimits {
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** How long a read may take. */
  readonly readWithinMs: number;
  readonly writeWithinMs: number;
}

export interface MongoSet {
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
