import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { Resolution } from './dns-answer.ts';

/** How long a response counts, because a name may change its addresses at any time. Its time to live is ignored. */
const KEPT_MS = 5_000;
const MAX_NAMES = 10_000;

export interface AnsweredNames {
  get(name: string): Resolution | undefined;
  /** Returns the given resolution. */
  keep(name: string, resolution: Resolution): Resolution;
}

/** The latest responses, so that many callbacks to one name need one query. */
export const answeredNames = (clock: () => number): AnsweredNames => {
  const names = new LRUCache<string, Resolution>({
    ...atMost(MAX_NAMES),
    // For the library, an entry expires when it is older than this.
    ttl: KEPT_MS - 1,
    ttlResolution: 0,
    // For the library, an entry with the time 0 never expires.
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
