/** Something kept of an organisation, which grows. */
interface Sized {
  size(): number;
}

/** Counted for an organisation of which nothing is known yet, or that has nothing. */
const LEAST_SIZE = 100;

/**
 * What is kept of each organisation, made at its first use. While all of it together is larger than `most`, that of the
 * organisation that was used the longest time ago is forgotten; one may be larger than all.
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
