import type { ApiKey } from '@runledger/contracts/catalogue/records';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { LRUCache } from 'lru-cache';
import { keyStore } from './key-store.ts';

const WRITE_EVERY_MS = 60_000;
const MOST_KEPT = 10_000;
const MOST_WRITING = 50;

export interface LastUses {
  readonly log: EventLog;
  readonly now: () => Date;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** When the use was last written, on the monotonic clock. */
interface Noted {
  at: number;
}

/**
 * Writes that a key was used: at its first use at this gateway, and then at most once a minute. It runs in the background,
 * delays and fails no request, and a write that failed is repeated with a later use.
 */
export const lastUses = ({ log, now, clock }: LastUses): ((record: ApiKey) => void) => {
  const kept = new LRUCache<string, Noted>({
    max: MOST_KEPT,
    memoMethod: () => ({ at: Number.NEGATIVE_INFINITY }),
  });
  let writing = 0;
  const write = async (record: ApiKey, noted: Noted): Promise<void> => {
    writing += 1;
    try {
      await keyStore(log).noteUse(record, now());
    } catch (error) {
      log.logger.debug({ err: error, key_id: record.id }, 'the last use of an API key could not be noted');
      noted.at = Number.NEGATIVE_INFINITY;
    } finally {
      writing -= 1;
    }
  };
  return (record) => {
    const noted = kept.memo(record.id);
    const at = clock();
    if (at - noted.at < WRITE_EVERY_MS || writing >= MOST_WRITING) return;
    noted.at = at;
    void write(record, noted);
  };
};
