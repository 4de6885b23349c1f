import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { versionOfCollection, type ViewPlaces } from './view-places.ts';

/** Gateways that still read a replaced set notice it within seconds. */
export const UNUSED_FOR_MS = 60_000;

export interface CollectionSweep extends Disposable {
  /** Drops the collections of this version and of former ones that no set uses, after a while (a minute) if none uses them then. */
  soon(): void;
}

/** Begins at once: a process may have been killed before it dropped what it had replaced. */
export const sweepCollections = (
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
