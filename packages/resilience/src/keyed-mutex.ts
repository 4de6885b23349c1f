import AsyncLock from 'async-lock';

export type KeyedMutex = <Answer>(key: string, work: () => Promise<Answer>) => Promise<Answer>;

/** Runs work under one key one after the other, also after a failure, and under two keys side by side. */
export const keyedMutex = (): KeyedMutex => {
  // Without this the library rejects the 1,001st that waits.
  const lock = new AsyncLock({ maxPending: Number.POSITIVE_INFINITY });
  return (key, work) => lock.acquire(key, work);
};
