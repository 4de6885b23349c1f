import { isLess, ROUNDING, shareWithSlot, type Sharer, type Sharing } from './sharing.ts';

/**
 * Whoever waits without a slot is passed by so many runs of another one, in slots that it could take and by no lower share: by weight what
 * the other one gets for one run of its own, and one more. With equal weights these are two.
 */
const mostPasses = (by: Pick<Sharer, 'weight'>, waiting: Pick<Sharer, 'weight'>): number =>
  Math.floor((by.weight / waiting.weight) * (1 + ROUNDING)) + 1;

/** Since a flow waits without a slot. */
interface Wait {
  /** The runs that it had waiting at the last start: while one of them waits, it has waited all the time. */
  runs: ReadonlySet<string>;
  /** By others. */
  readonly passes: Map<string, number>;
}

/** Counts who passes whom, of those that share the slots of a GPU model, or the slots of an organisation. */
export class Passes {
  /** By pool and name. */
  readonly #waits = new Map<string, Map<string, Wait>>();

  /** Somebody gets a slot. Returns a pass beyond the bound, in words. */
  start(sharing: Sharing): string | undefined {
    const { pool, sharers, next } = sharing;
    const before = this.#waits.get(pool);
    const waits = new Map<string, Wait>();
    this.#waits.set(pool, waits);
    let beyond: string | undefined;
    for (const one of sharers) {
      if (one === next || one.slots > 0) continue;
      const runs = new Set(one.waiting.map(({ name, head }) => `${name} ${head}`));
      const known = before?.get(one.name);
      const passes = known && !known.runs.isDisjointFrom(runs) ? known.passes : new Map<string, number>();
      waits.set(one.name, { runs, passes });
      if (!isPassed(one, sharing)) continue;
      const times = (passes.get(next.name) ?? 0) + 1;
      passes.set(next.name, times);
      const most = mostPasses(next, one);
      if (times > most)
        beyond = `${one.name} waits for ${pool} without a slot, and is passed by run ${times} of ${next.name}, of ${most} that may`;
    }
    return beyond;
  }

  /** Slots may have been given away that were not counted. */
  forget(): void {
    this.#waits.clear();
  }
}

/** It could take the slot, and the next one is not before it by a lower share: start tags decide. */
const isPassed = (one: Sharer, { next, fairShare }: Sharing): boolean => {
  const share = shareWithSlot(next);
  const isByShare = !isLess(fairShare, share) && share < shareWithSlot(one);
  return one.able.length > 0 && !isByShare;
};
