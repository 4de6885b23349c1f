import { LRUCache } from 'lru-cache';
import { receiverKey, type Receiver } from '../core/receivers/receiver.ts';

/** To count a thousand takes the broker about a millisecond. */
const MANY = 1_000;
const REMEMBERED_MS = 10_000;
const MAX_REMEMBERED = 1_000;

/** Counts for each receiver; a count of many is good for ten seconds, however many look at it. `count` may reject. */
export const rememberMany = (
  count: (receiver: Receiver) => Promise<number>,
): ((receiver: Receiver) => Promise<number>) => {
  const remembered = new LRUCache<string, number>({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS });
  return async (receiver) => {
    const key = receiverKey(receiver);
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const counted = await count(receiver);
    if (counted >= MANY) remembered.set(key, counted);
    return counted;
  };
};
