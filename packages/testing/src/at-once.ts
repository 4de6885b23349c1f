/** Does the work on each item, with so many at once, in their order. Resolves with the results, in the order in which they came. */
export const atOnce = async <Item, Result>(
  count: number,
  items: Iterable<Item>,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> => {
  const results: Result[] = [];
  // One iterator, from which each takes its next item.
  const left = Iterator.from(items);
  const worker = async (): Promise<void> => {
    for (const item of left) results.push(await work(item));
  };
  await Promise.all(Array.from({ length: count }, worker));
  return results;
};
