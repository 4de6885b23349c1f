import type { ApiKey } from '@runledger/contracts/catalogue';
import type { EventLog } from '@runledger/event-log/event-log';
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

/**
 * Notes that a key was used: at its first use at this gateway, and then once a minute at most. In the background: it
 * delays and fails nothing, and what could not be noted is noted with a later use.
 */
export const lastUses = ({ log, now, clock }: LastUses): ((record: ApiKey) => void) => {
  const noted = new Map<string, number>();
  let writing = 0;
  const write = async (record: ApiKey): Promise<void> => {
    writing += 1;
    try {
      await keyStore(log).noteUse(record, now());
    } catch (error) {
      log.logger.debug({ err: error, key_id: record.id }, 'the last use of an API key could not be noted');
      noted.delete(record.id);
    } finally {
      writing -= 1;
    }
  };
  return (record) => {
    const at = clock();
    const before = noted.get(record.id);
    if (before !== undefined && at - before < WRITE_EVERY_MS) return;
    if (writing >= MOST_WRITING) return;
    noted.delete(record.id);
    const [oldest] = noted.keys();
    if (noted.size >= MOST_KEPT && oldest !== undefined) noted.delete(oldest);
    noted.set(record.id, at);
    void write(record);
  };
};
