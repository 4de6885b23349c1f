import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from 'mongodb';
import type { ViewPlaces } from './view-places.ts';

/** Gateways that still read a replaced set notice it within seconds. */
const UNUSED_FOR_MS = 60_000;

export interface CollectionSweep extends Disposable {
  /** Drops the collections of this version that no set uses, a minute later if none uses them then. */
  soon(): void;
}

/** Begins at once: a process may have been killed before it dropped what it had replaced. */
export const sweepCollections = (
  database: Db,
  { live, next, firstCollection }: ViewPlaces,
): CollectionSweep => {
  const stop = new AbortController();
  const unused = async (): Promise<string[]> => {
    const used = [(await live.read())?.collection, (await next.read())?.collection];
    const all = await database.listCollections({}, { nameOnly: true }).toArray();
    // Without a position it is not known which one is live.
    return used[0] === undefined
      ? []
      : all
          .map(({ name }) => name)
          .filter((name) => name === firstCollection || name.startsWith(`${firstCollection}_`))
          .filter((name) => !used.includes(name));
  };
  const sweep = async (): Promise<void> => {
    try {
      const before = await unused();
      if (before.length === 0) return;
      await pause(UNUSED_FOR_MS, undefined, { ref: false, signal: stop.signal });
      const still = new Set(await unused());
      for (const name of before) if (still.has(name)) await database.collection(name).drop();
    } catch {
      // The server is unavailable, or this process stops. The next start begins again.
    }
  };
  void sweep();
  return { soon: () => void sweep(), [Symbol.dispose]: () => stop.abort() };
};
