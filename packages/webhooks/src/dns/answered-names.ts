import { LRUCache } from 'lru-cache';
import type { Resolution } from './dns-answer.ts';

/** A name may change its addresses at any time: a response counts for so long, whatever its own time to live. */
const KEPT_MS = 5_000;
const MAX_NAMES = 10_000;

export interface AnsweredNames {
  get(name: string): Resolution | undefined;
  /** Gives back what it was given. */
  keep(name: string, resolution: Resolution): Resolution;
}

/** The latest responses, so that many callbacks to one name cost one query. */
export const answeredNames = (clock: () => number): AnsweredNames => {
  const names = new LRUCache<string, Resolution>({
    max: MAX_NAMES,
    // To the library an entry is too old only when it is older than this.
    ttl: KEPT_MS - 1,
    ttlResolution: 0,
    // The library takes an entry of the time 0 for one without a limit.
    perf: { now: () => clock() + 1 },
  });
  return {
    get: (name) => names.get(name),
    keep: (name, resolution) => {
      // A failure on our side says nothing about the name.
      if (resolution.kind !== 'no_server') names.set(name, resolution);
      return resolution;
    },
  };
};
