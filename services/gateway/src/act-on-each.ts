import pLimit from 'p-limit';

const MANY = 16;

/** Some at the same time, begun in order. After a failure no more begin. @throws what `act` throws */
export const actOnEach = async <Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
  maxConcurrent = MANY,
): Promise<Result[]> => {
  const limit = pLimit(maxConcurrent);
  try {
    return await limit.map(items, act);
  } finally {
    limit.clearQueue();
  }
};
