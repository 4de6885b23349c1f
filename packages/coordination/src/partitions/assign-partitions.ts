/**
 * Who should hold which share: everybody's portion differs by one at most. Whoever knows the same members and claims
 * comes to the same division, and a share stays where it is as long as its holder has no more than a fair portion.
 */
export const assignPartitions = (
  shares: number,
  living: readonly string[],
  claimedBy: (share: number) => string | undefined,
): ReadonlyMap<string, readonly number[]> => {
  const portions = new Map(living.toSorted().map((member): [string, number[]] => [member, []]));
  const free: number[] = [];
  for (let share = 0; share < shares; share += 1) {
    (portions.get(claimedBy(share) ?? '') ?? free).push(share);
  }
  const least = Math.floor(shares / portions.size);
  const remainder = shares % portions.size;
  // What remains goes to those that have more already, so that as little as possible moves.
  const largestFirst = [...portions.values()].toSorted(
    (one, other) => Math.min(other.length, least + 1) - Math.min(one.length, least + 1),
  );
  const wanted = largestFirst.map((portion, n) => ({ portion, size: n < remainder ? least + 1 : least }));
  for (const { portion, size } of wanted) free.push(...portion.splice(size));
  free.sort((one, other) => one - other);
  for (const { portion, size } of wanted) portion.push(...free.splice(0, size - portion.length));
  return portions;
};
