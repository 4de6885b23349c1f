import type { ApiKey } from '@runledger/contracts/catalogue/records';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { LRUCache } from 'lru-cache';
import { keyStore } from './key-store.ts';

const WRITE_EVERY_MS = 60_000;
const MAX_CACHED = 10_000;
const MAX_CONCURRENT_WRITES = 50;

export interface LastUses {
  readonly log: EventLog;
  readonly now: () => Date;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** When the use was last written, on the monotonic clock. */
interface Recorded {
  at: number;
}

/**
 * Writes that a key was used: at its first use at this gateway, and then at most once a minute. Writes run in the background
 * and neither delay nor fail a request. A failed write is repeated with a later use.
 */
export const lastUses = ({ log, now, clock }: LastUses): ((record: ApiKey) => void) => {
  const cache = new LRUCache<string, Recorded>({
    max: MAX_CACHED,
    memoMethod: () => ({ at: Number.NEGATIVE_INFINITY }),
  });
  let writing = 0;
  const write = async (record: ApiKey, recorded: Recorded): Promise<void> => {
    writing += 1;
    try {
      await keyStore(log).recordUse(record, now());
    } catch (error) {
      log.logger.debug({ err: error, key_id: record.id }, 'the last use of an API key could not be stored');
      recorded.at = Number.NEGATIVE_INFINITY;
    } finally {
      writing -= 1;
    }
  };
  return (record) => {
    const recorded = cache.memo(record.id);
    const at = clock();
    if (at - recorded.at < WRITE_EVERY_MS || writing >= MAX_CONCURRENT_WRITES) return;
    recorded.at = at;
    void write(record, recorded);
  };
};
