import type { ApiKey } from '@runledger/contracts/catalogue/records';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { keyStore } from './key-store.ts';

const WRITE_EVERY_MS = 60_000;
const MAX_LAST_USES = 10_000;
const MAX_CONCURRENT_WRITES = 50;

export interface LastUses {
  readonly log: EventLog;
  readonly now: () => Date;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** Of the client; undefined when the connection was closed already. */
export type RecordUse = (record: ApiKey, address: string | undefined) => void;

/** When the stored use was, on the monotonic clock. */
interface Recorded {
  at: number;
}

/**
 * Writes when and from where a key was used: at its first use, and then at most once a minute, whichever gateways see it. Writes
 * run in the background and neither delay nor fail a request. A failed write is repeated with a later use.
 */
export const lastUses = ({ log, now, clock }: LastUses): RecordUse => {
  const cache = new LRUCache<string, Recorded>({
    ...atMost(MAX_LAST_USES),
    memoMethod: () => ({ at: Number.NEGATIVE_INFINITY }),
  });
  let writing = 0;
  const write = async (record: ApiKey, address: string | undefined, recorded: Recorded): Promise<void> => {
    writing += 1;
    const [at, began] = [now(), clock()];
    try {
      const stored = await keyStore(log).recordUse(record, { at, address }, WRITE_EVERY_MS);
      recorded.at = began - Math.max(0, at.getTime() - stored.getTime());
    } catch (error) {
      log.logger.debug({ err: error, key_id: record.id }, 'the last use of an API key could not be stored');
      recorded.at = Number.NEGATIVE_INFINITY;
    } finally {
      writing -= 1;
    }
  };
  return (record, address) => {
    const recorded = cache.memo(record.id);
    const at = clock();
    if (at - recorded.at < WRITE_EVERY_MS || writing >= MAX_CONCURRENT_WRITES) return;
    recorded.at = at;
    void write(record, address, recorded);
  };
};
