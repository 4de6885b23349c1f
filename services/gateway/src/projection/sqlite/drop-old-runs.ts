import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { sleep } from '@runledger/resilience/abort';

const EVERY_MS = 3_600_000;
const AT_ONCE = 500;
const DAY_MS = 86_400_000;

interface Retention {
  readonly retentionDays: number;
  readonly now: () => Date;
}

/** Drops runs that were created longer ago than the retention, at once and every hour, and gives their room back. */
export const dropOldRuns = (database: DatabaseSync, { retentionDays, now }: Retention): AsyncDisposable => {
  const stop = new AbortController();
  const drop = database.prepare(
    `DELETE FROM run_views WHERE rowid IN (
       SELECT rowid FROM run_views WHERE created_at < ? ORDER BY created_at LIMIT ${AT_ONCE})`,
  );
  const dropping = (async () => {
    while (!stop.signal.aborted) {
      const before = new Date(now().getTime() - retentionDays * DAY_MS).toISOString();
      try {
        while (!stop.signal.aborted && Number(drop.run(before).changes) > 0) {
          database.exec('PRAGMA incremental_vacuum');
          await yieldToOthers();
        }
      } catch {
        // Every use of the views reports what is wrong with the file. The next try is in an hour.
      }
      await sleep(EVERY_MS, stop.signal);
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await dropping;
    },
  };
};
