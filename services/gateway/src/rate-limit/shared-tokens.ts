import { openBucket } from '@runledger/event-log/streams/bucket';
import { polledClock } from '@runledger/coordination/polled-clock';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { Type } from 'typebox';
import { putBack, take, type Taken } from './core/token-bucket.ts';

/** Under the id of a key: the tokens left of its limit, at a time of the broker's clock. */
const Tokens = Type.Object({ tokens: Type.Number({ minimum: 0 }), at: Type.Number() });

/** Enough for twenty gateways that write the same key at once. */
const MAX_TRIES = 50;

/** The tokens of each key's limit, which all gateways share. */
export interface SharedTokens {
  /**
   * Takes the number of tokens that `wanted` returns, or as many as are left. It calls `wanted` late.
   * @throws {LogUnavailable} some tokens may be taken then, and are lost
   */
  take(rate_key: string, wanted: () => number): Promise<Taken>;
  /**
   * Gives back tokens that were not spent. A write whose answer is lost is not repeated, because it may have happened:
   * no token comes back twice, and some may be lost.
   * @throws {LogUnavailable}
   */
  giveBack(rate_key: string, tokens: number): Promise<void>;
}

/**
 * All gateways together never take more than the limit: of several that write at the same time one succeeds, and the
 * others read again. Times are the broker's, because the gateways' clocks may differ.
 */
export const sharedTokens = (log: EventLog, limit: number): SharedTokens => {
  const bucket = openBucket(log, 'RATES', Tokens);
  const brokerNow = polledClock(log, 'KV_RATES');
  return {
    take: async (rate_key, wanted) => {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
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
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const entry = await bucket.get(rate_key);
        // A bucket that does not exist is full.
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
