/**
 * Which member should hold which partitions. The numbers of any two members differ by at most one. Processes that know the same members and
 * claims come to the same assignment, and a partition stays where it is unless its holder has more than a fair part.
 */
export const assignPartitions = (
  partitions: number,
  living: readonly string[],
  claimedBy: (partition: number) => string | undefined,
): ReadonlyMap<string, readonly number[]> => {
  const assigned = new Map(living.toSorted().map((member): [string, number[]] => [member, []]));
  const free: number[] = [];
  for (let partition = 0; partition < partitions; partition += 1) {
    (assigned.get(claimedBy(partition) ?? '') ?? free).push(partition);
  }
  const least = Math.floor(partitions / assigned.size);
  const remainder = partitions % assigned.size;
  // The remainder goes to those that have more already, so that as little as possible moves.
  const largestFirst = [...assigned.values()].toSorted(
    (one, other) => Math.min(other.length, least + 1) - Math.min(one.length, least + 1),
  );
  const wanted = largestFirst.map((part, n) => ({ part, size: n < remainder ? least + 1 : least }));
  for (const { part, size } of wanted) free.push(...part.splice(size));
  free.sort((one, other) => one - other);
  for (const { part, size } of wanted) part.push(...free.splice(0, size - part.length));
  return assigned;
};
