/** A cache of one organisation, which grows. */
interface Sized {
  size(): number;
}

/** Counted for an organisation whose cache is empty. */
const LEAST_SIZE = 100;

/**
 * One cache for each organisation, made at its first use. While all caches together are larger than `most`, the least
 * recently used one is forgotten; a single one may be larger. lru-cache would take the size of each only once, when it is
 * set, and these grow later.
 */
export const recentOrganisations = <Kept extends Sized>(
  most: number,
  make: (org: string) => Kept,
): { of(org: string): Kept; forgetAll(): void } => {
  /** In the order of their last use. */
  const kept = new Map<string, Kept>();
  return {
    of: (org) => {
      const one = kept.get(org) ?? make(org);
      kept.delete(org);
      let size = sizeOf(one);
      for (const other of kept.values()) size += sizeOf(other);
      for (const [oldest, other] of kept) {
        if (size <= most) break;
        kept.delete(oldest);
        size -= sizeOf(other);
      }
      kept.set(org, one);
      return one;
    },
    forgetAll: () => kept.clear(),
  };
};

const sizeOf = (kept: Sized): number => Math.max(LEAST_SIZE, kept.size());
