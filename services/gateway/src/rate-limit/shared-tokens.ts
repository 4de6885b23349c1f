import { openBucket } from '@runledger/event-log/streams/bucket';
import { brokerClock } from '@runledger/coordination/broker-clock';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { Type } from 'typebox';
import { putBack, take, type Taken } from './core/token-bucket.ts';

/** Under the id of a key: what is left of its limit at a time of the broker's clock. */
const Tokens = Type.Object({ tokens: Type.Number({ minimum: 0 }), at: Type.Number() });

/** Twenty gateways that come for the same key at once are heard, one after the other. */
const MOST_TRIES = 50;

/** What is left of each key's limit, as all gateways share it. */
export interface SharedTokens {
  /**
   * So many as `wanted` says once it is known what is there, if there are as many.
   * @throws {LogUnavailable} some may be taken then, and are lost
   */
  take(rate_key: string, wanted: () => number): Promise<Taken>;
  /**
   * Some that were taken and not spent. A write whose answer is lost is not repeated, since it may have been heard: so
   * no token comes back twice, and some may be lost.
   * @throws {LogUnavailable}
   */
  giveBack(rate_key: string, tokens: number): Promise<void>;
}

/**
 * Together gateways never take more than the limit: only one of several that take at the same time is heard, and the
 * others look again. Times are the broker's, since the gateways' clocks may differ.
 */
export const sharedTokens = (log: EventLog, limit: number): SharedTokens => {
  const bucket = openBucket(log, 'RATES', Tokens);
  const brokerNow = brokerClock(log, 'KV_RATES');
  return {
    take: async (rate_key, wanted) => {
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        const entry = await bucket.get(rate_key);
        const taken = take(entry?.value, await brokerNow(), limit, wanted());
        if (taken.granted === 0) return taken;
        const written = entry
          ? await bucket.update(rate_key, taken.left, entry.revision)
          : await bucket.create(rate_key, taken.left);
        if (written !== false) return taken;
      }
      throw changesTooFast(rate_key);
    },
    giveBack: async (rate_key, tokens) => {
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        const entry = await bucket.get(rate_key);
        // No bucket is a full one.
        if (!entry) return;
        const left = putBack(entry.value, await brokerNow(), limit, tokens);
        if ((await bucket.updateOnce(rate_key, left, entry.revision)) !== false) return;
      }
      throw changesTooFast(rate_key);
    },
  };
};

const changesTooFast = (rate_key: string): LogUnavailable =>
  new LogUnavailable(`The rate limit of key ${rate_key} changes too fast to be counted. Try again.`);
