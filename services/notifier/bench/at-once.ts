/** Does the work for every item, `limit` at a time, in order. */
export const atOnce = async <Item>(
  most: number,
  items: Iterable<Item>,
  work: (item: Item) => Promise<unknown>,
): Promise<void> => {
  const left = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = left.next(); next.done !== true; next = left.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: most }, worker));
};

export const range = (length: number): number[] => Array.from({ length }, (_, n) => n);

/** The value that this part (0 to 1) of the others does not exceed. */
export const quantile = (values: readonly number[], part: number): number => {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? Number.NaN;
};

/** At most this many permits are taken at a time; a caller that wants one more waits. */
export const allowance = (most: number): { take(): Promise<void>; giveBack(): void } => {
  const waiting: (() => void)[] = [];
  let left = most;
  return {
    take: () => {
      left -= 1;
      return left >= 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve));
    },
    giveBack: () => {
      left += 1;
      waiting.shift()?.();
    },
  };
};
