import pLimit from 'p-limit';

const MAX_CONCURRENT = 16;

/** Some at the same time, begun in order. After a failure no more begin. @throws what `act` throws */
export const actOnEach = async <Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> => {
  const limit = pLimit(MAX_CONCURRENT);
  try {
    return await limit.map(items, act);
  } finally {
    limit.clearQueue();
  }
};
