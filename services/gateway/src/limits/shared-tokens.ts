import { openBucket } from '@runledger/event-log/bucket';
import { brokerClock } from '@runledger/event-log/broker-clock';
import { LogUnavailable, type EventLog } from '@runledger/event-log/event-log';
import { Type } from 'typebox';
import { take, type Taken } from './token-bucket.ts';

/** Under the id of a key: what is left of its limit at a time of the broker's clock. */
const Tokens = Type.Object({ tokens: Type.Number({ minimum: 0 }), at: Type.Number() });

const MOST_TRIES = 20;

/** @throws {LogUnavailable} */
export type TakeTokens = (key_id: string, wanted: number) => Promise<Taken>;

/**
 * Takes from what all gateways share, so together they never take more than the limit: only one of several that take at the
 * same time is heard, and the others look again. Times are the broker's, since the gateways' clocks may differ.
 */
export const sharedTokens = (log: EventLog, limit: number): TakeTokens => {
  const bucket = openBucket(log, 'RATES', Tokens);
  const brokerNow = brokerClock(log, 'KV_RATES');
  return async (key_id, wanted) => {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const entry = await bucket.get(key_id);
      const taken = take(entry?.value, await brokerNow(), limit, wanted);
      if (taken.granted === 0) return taken;
      const written = entry
        ? await bucket.update(key_id, taken.left, entry.revision)
        : await bucket.create(key_id, taken.left);
      if (written !== false) return taken;
    }
    throw new LogUnavailable(`The rate limit of key ${key_id} changes too fast to be counted. Try again.`);
  };
};
